#pragma once
#include <cstdint>
#include <string>

namespace zklock::bridge {

/// What stands between the server's socket and the C client where the two do not speak the same: the C client has one
/// end of a pair of sockets, and this object the other. It belongs to one connection. The server's socket stays its
/// owner's, does not block, and may be another descriptor of the same connection in each call.
///
/// Everything is done in the call, and no call blocks: what cannot be sent now waits in here, and the C client's end
/// keeps what it has written. So the caller alternates with the C client, waits for the socket in between, and knows
/// at each moment how far everything has come. No call raises SIGPIPE.
class relay {
public:
    enum class state : std::uint8_t {
        handshaking, ///< the C client must not be given its end yet
        open,
        ended ///< nothing more comes from the server. The C client finds that out when it has read what came before
    };

    relay() = default;
    relay(const relay&) = delete;
    relay& operator=(const relay&) = delete;
    virtual ~relay() = default;

    [[nodiscard]] virtual state now_in() const noexcept = 0;

    /// Goes on with the handshake, as far as the server has answered.
    virtual state shake_hands(int server) noexcept = 0;

    /// Makes the pair, and returns the C client's end of it, which stays this object's until close_clients_end(). If
    /// that fails, the result is -1, and errno says why.
    [[nodiscard]] virtual int open_pair() noexcept = 0;
    /// The C client has a duplicate of its end, and alone has one from here on.
    virtual void close_clients_end() noexcept = 0;

    /// Brings the C client what has come from the server, up to a limit, as far as the pair has room for it.
    virtual void bring_in(int server) noexcept = 0;
    /// Sends the server all that the C client has written, as far as the socket takes it.
    virtual void bring_out(int server) noexcept = 0;
    /// Does what bring_out() does, and then tells the server that nothing more will come.
    virtual void say_goodbye(int server) noexcept = 0;

    /// The pair was full, so something that came is still in here.
    [[nodiscard]] virtual bool holds_input() const noexcept = 0;
    /// The socket took no more, so something that is to be sent is still in here.
    [[nodiscard]] virtual bool holds_output() const noexcept = 0;

    /// Once it has ended: why, in words; empty if the server has hung up in good order.
    [[nodiscard]] virtual const std::string& why() const noexcept = 0;
    /// It has ended because the two ends did not agree: in the handshake, or because one of them has refused the other
    /// before the server has said anything to the C client.
    [[nodiscard]] virtual bool has_failed() const noexcept = 0;

    /// In a forked process: from here on, nothing in here is touched, nor freed if that could lock or write anything.
    virtual void leave_to_parent() noexcept = 0;
};

} // namespace zklock::bridge
