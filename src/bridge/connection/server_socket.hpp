#pragma once
#include "bridge/names/server_address.hpp"
#include "bridge/wire/pair_relay.hpp"
#include "runtime/kept_memory.hpp"
#include "runtime/single_wait.hpp"
#include "runtime/strand.hpp"
#include "zklock/errc.hpp"

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace zklock::bridge {

/// The socket towards a server, one after the other, and what Asio waits for at it: what still comes for an earlier one
/// is ignored. The C client has a duplicate, because it closes its own when it likes; or there is a relay between, for
/// TLS or SASL.
class server_socket {
public:
    /// Whose it is.
    class owner {
    public:
        /// What is under way keeps it in memory.
        [[nodiscard]] virtual std::shared_ptr<const void> keep() = 0;
        /// On the strand, in no turn: a wait has ended. go_on() says what that means.
        virtual void wait_ended(bool for_writing, bool ready) = 0;

    protected:
        ~owner() = default;
    };

    explicit server_socket(owner& whose) : owner_(whose) {}

    [[nodiscard]] bool is_open() const noexcept { return socket_ != nullptr; }
    [[nodiscard]] int descriptor() { return socket_->native_handle(); }
    /// Nothing if it cannot be told.
    [[nodiscard]] std::optional<boost::asio::ip::address> local_address() const;

    /// Begins to connect; or says why that cannot be. `connected` is called with what came of it, on the strand, unless
    /// this socket was dropped before.
    template <class F> error_code connect(const runtime::strand&, const server_address&, F connected);
    void put_between(std::unique_ptr<engine> e) { relay_ = std::make_unique<pair_relay>(std::move(e)); }
    [[nodiscard]] pair_relay* relay() const noexcept { return relay_.get(); }
    void drop_relay() noexcept { relay_.reset(); }

    /// Of what is sent, nothing leaves before that is taken back. (A relay sends nothing of itself.)
    void cork(bool on);
    /// Leaves nothing unread, because closing a socket with unread data resets it, and what was sent last may be lost.
    void say_goodbye();
    /// Reads what comes, and drops it: `came` is called with what ends that, or nothing.
    template <class F> void skip(F came)
    {
        socket_->async_read_some(boost::asio::buffer(skipped_),
                                 boost::asio::bind_allocator(of_skip_.get(), std::move(came)));
    }
    void drop();
    /// In a forked process, before it is dropped. `told_of_fork`: so was Asio.
    void leave_to_parent(bool told_of_fork);

    /// Waits until it can be read, or written, or both.
    void await(bool write, bool read = true);
    /// A wait has ended. True if that is what was waited for. If it was for an earlier socket, the one for this socket
    /// begins.
    [[nodiscard]] bool go_on(bool for_writing, bool ready);
    /// There is more to read, and a turn for it is on its way, in place of a wait: it calls begin_read() with what was
    /// the generation() then.
    void read_soon() noexcept;
    [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }
    [[nodiscard]] bool begin_read(std::uint64_t turn) noexcept;
    [[nodiscard]] bool awaits_reading() const noexcept { return to_read_.awaited; }
    [[nodiscard]] bool awaits_writing() const noexcept { return to_write_.awaited; }
    /// Where Asio once waited for writing, the kernel goes on telling it about that, with each answer that is waited
    /// for. So it watches the connection by another duplicate then, unless there is no descriptor left.
    void forget_writing();

private:
    using socket_type = boost::asio::basic_stream_socket<boost::asio::ip::tcp, runtime::strand>;

    /// Waits until the socket is ready for that. It outlives the socket.
    struct direction {
        socket_type::wait_type what;
        bool awaited = false;
        runtime::single_wait wait{};
    };

    [[nodiscard]] static boost::asio::ip::tcp::endpoint endpoint_of(const server_address&);
    [[nodiscard]] error_code open(const runtime::strand&, const boost::asio::ip::tcp::endpoint&);
    void forget();
    void await(direction&);

    owner& owner_;
    std::unique_ptr<socket_type> socket_;
    std::unique_ptr<pair_relay> relay_;
    boost::asio::ip::tcp protocol_ = boost::asio::ip::tcp::v4();
    std::uint64_t generation_ = 0;
    direction to_read_{socket_type::wait_read};
    direction to_write_{socket_type::wait_write};
    bool reads_soon_ = false;
    bool waited_for_writing_ = false; // at some time since the socket was made
    bool corked_ = false;
    runtime::memory_of_wait of_connect_, of_skip_;
    std::array<char, 4096> skipped_{};
};

template <class F>
error_code server_socket::connect(const runtime::strand& strand, const server_address& address, F connected)
{
    const auto server = endpoint_of(address);
    if (const error_code ec = open(strand, server))
        return ec;
    auto done = [this, kept = owner_.keep(), generation = generation_, connected](const error_code& ec) {
        if (generation == generation_ && ec != boost::asio::error::operation_aborted)
            connected(ec);
    };
    socket_->async_connect(server, boost::asio::bind_allocator(of_connect_.get(), std::move(done)));
    waited_for_writing_ = true;
    return {};
}

} // namespace zklock::bridge
