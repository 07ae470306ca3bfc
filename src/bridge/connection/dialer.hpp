#pragma once
#include "bridge/connection/connector.hpp"
#include "bridge/connection/server_socket.hpp"
#include "bridge/wire/wire.hpp"
#include "runtime/strand.hpp"
#include "zklock/client_options.hpp"
#include "zklock/errc.hpp"
#include "zklock/events.hpp"

#include <boost/asio/ip/address.hpp>

#include <functional>
#include <memory>
#include <optional>

namespace zklock::bridge {

class engine;
class sasl_engine;
class tls_context;
class tls_load;
class ticket_call;
struct sasl_login;
struct sasl_start;

/// Makes the connections that the wire goes on with, one attempt after the other, as the connector decides: has the
/// files for TLS read, and a KDC asked; dials; agrees on TLS. Where SASL is exchanged, it looks after that, too, behind
/// the gate of which the C client waits for its session.
class dialer {
public:
    /// Whose it is, and the socket.
    class owner : public server_socket::owner {
    public:
        /// Does that in a turn, unless all has been stopped.
        virtual void go_on_with_attempt(const std::function<void()>&) = 0;
        /// The wire has got a socket, or the attempt has ended.
        virtual void wire_changed() = 0;

    protected:
        ~owner() = default;
    };

    dialer(owner&, const client_options&, const runtime::strand&, connector&, wire&, server_socket&);

    /// An attempt begins, with the connector's address.
    void attempt(session_question);
    /// The socket is ready while the wire is dialing: the two ends agree on TLS.
    void shake_hands();

    /// From which the present or last connection was made to its server; nothing before the first.
    [[nodiscard]] const std::optional<boost::asio::ip::address>& local_address() const noexcept
    {
        return local_address_;
    }
    /// When the present or last attempt began.
    [[nodiscard]] lease_clock::time_point began() const noexcept { return began_; }

    /// Something has come. False if the exchange of SASL has failed, and with it the attempt.
    [[nodiscard]] bool follow_gate();
    /// Has the gate leave the way of what is said, once nobody can notice. `held_back`: there is something to be sent.
    void leave_gate(bool held_back);
    void drop_socket();
    /// Nothing of this attempt is on its way any more.
    void stop() noexcept;
    /// In a forked process: closes no more than the descriptor.
    void leave_to_parent(bool told_of_fork);

private:
    /// Whom what is under way on other threads tells.
    [[nodiscard]] std::weak_ptr<dialer> weak() { return std::shared_ptr<dialer>(owner_.keep(), this); }
    void introduce();
    void dial();
    void dialed(const error_code&);
    void connected_by(int socket);

    // TLS, and SASL: each in a file that is there only where the library is built with it.
    void load_tls_files();
    void tls_files_loaded(tls_load&);
    void put_relay_between();
    void try_next_name();
    using owned_login = std::unique_ptr<sasl_login, void (*)(sasl_login*)>;
    [[nodiscard]] static owned_login login_of(const client_options&);
    void identify();
    void kdc_answered(ticket_call&);
    void identified(sasl_start);
    [[nodiscard]] std::unique_ptr<engine> gated(std::unique_ptr<engine> tls);
    void leave_login_to_parent() noexcept;

    owner& owner_;
    const client_options& options_;
    std::optional<runtime::strand> strand_; // until it is stopped
    connector& connector_;
    wire& wire_;
    server_socket& socket_;
    std::optional<boost::asio::ip::address> local_address_;
    lease_clock::time_point began_{};
    std::shared_ptr<tls_load> load_;         // under way
    std::shared_ptr<const tls_context> tls_; // as it was read last
    owned_login login_{nullptr, nullptr};    // none without SASL
    sasl_engine* speaks_ = nullptr;          // the present relay's, as long as its gate is needed
};

} // namespace zklock::bridge
