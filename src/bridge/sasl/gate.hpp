#pragma once
#include "bridge/sasl/mechanism.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace zklock::bridge {

/// Stands between the C client and a server until both have proved who they are. The client's request for a session
/// goes out at once; the server's answer is kept, the mechanism's steps are taken, and then the client gets that
/// answer: so nothing else of the client travels before its identity stands. It is pure: its owner, who has the
/// sockets, gives it what comes from either, and sends what it has for either.
///
/// What no ZooKeeper server says, and that the session is over, is let through as it is: the wire has its words for it.
///
/// It is bounded: in what it keeps, and in the steps it takes. Where memory fails, it throws std::bad_alloc.
class sasl_gate {
public:
    enum class state : std::uint8_t {
        asking,         ///< the session has not been granted yet
        authenticating, ///< it is, and the server keeps it for granted() after the request was sent
        open,           ///< everything may pass: see is_empty()
        failed          ///< failure() tells why; the client has got nothing
    };

    static constexpr std::size_t longest_request = 4096;     ///< for a session, of the client
    static constexpr std::size_t longest_answer = 64 * 1024; ///< of the server, in an exchange
    static constexpr unsigned most_steps = 8;

    explicit sasl_gate(std::unique_ptr<mechanism> by);

    [[nodiscard]] state now_in() const noexcept { return state_; }

    /// Takes what the C client has written. Unless it is open, what goes beyond the request for a session is kept.
    void from_client(std::string_view bytes);
    /// Takes what the server has sent.
    void from_server(std::string_view bytes);
    /// Nothing more will come from the server. In an exchange, this is a failure; before and after, the gate is open.
    void server_ended();

    /// What is to be sent to either, in its order; valid until the next call that is not const.
    [[nodiscard]] std::span<const char> to_server() const noexcept { return to_server_; }
    [[nodiscard]] std::span<const char> to_client() const noexcept { return to_client_; }
    /// The owner has sent so many bytes of it.
    void sent_to_server(std::size_t) noexcept;
    void sent_to_client(std::size_t) noexcept;

    /// It is open, and keeps nothing for either: it may leave.
    [[nodiscard]] bool is_empty() const noexcept
    {
        return state_ == state::open && to_server_.empty() && to_client_.empty();
    }

    /// For how long the server keeps the session, counted from the request: an exchange that takes longer than two
    /// thirds of it has to be given up. Nothing as long as the session is not granted.
    [[nodiscard]] std::optional<std::chrono::milliseconds> granted() const noexcept { return granted_; }
    /// Both have proved who they are: it was not opened for another reason.
    [[nodiscard]] bool authenticated() const noexcept { return authenticated_; }

    [[nodiscard]] sasl_failure failed_by() const noexcept { return failed_by_; }
    /// In words, in one line.
    [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

private:
    void look_at_response();
    [[nodiscard]] bool look_at_answer();
    bool refused(std::int32_t error);
    void take(std::string_view challenge);
    void open();
    bool fail(sasl_failure, std::string why); ///< returns false
    void send_token(std::string_view token);

    const std::unique_ptr<mechanism> by_;
    state state_ = state::asking;
    sasl_failure failed_by_ = sasl_failure::none;
    bool requested_ = false; ///< the client's request is complete
    bool authenticated_ = false;
    unsigned steps_ = 0;
    std::optional<std::chrono::milliseconds> granted_{};
    std::string from_client_; ///< not let through yet
    std::string from_server_; ///< not looked at yet
    std::string response_;    ///< the server's, which the client does not have yet
    std::string to_server_;
    std::string to_client_;
    std::string failure_;
};

} // namespace zklock::bridge
