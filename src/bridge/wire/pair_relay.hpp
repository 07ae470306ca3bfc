#pragma once
#include "bridge/wire/engine.hpp"
#include "runtime/unique_fd.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace zklock::bridge {

/// What stands between the server's socket and the C client where the two do not speak the same: the C client has one
/// end of a pair of sockets, and this object the other; an engine speaks with the server. It belongs to one connection.
/// The server's socket stays its owner's, does not block, and may be another descriptor of the same connection in each
/// call.
///
/// Everything is done in the call, and no call blocks: what cannot be sent now waits in here, and the C client's end
/// keeps what it has written. So the caller alternates with the C client, waits for the socket in between, and knows
/// at each moment how far everything has come. No call raises SIGPIPE.
class pair_relay {
public:
    enum class state : std::uint8_t {
        handshaking, ///< the C client must not be given its end yet
        open,
        ended ///< nothing more comes from the server. The C client finds that out when it has read what came before
    };

    explicit pair_relay(std::unique_ptr<engine> speaks) noexcept : engine_(std::move(speaks)) {}
    pair_relay& operator=(pair_relay&&) = delete;

    [[nodiscard]] state now_in() const noexcept;

    /// Goes on with the handshake, as far as the server has answered.
    state shake_hands(int server) noexcept;

    /// Makes the pair, and returns the C client's end of it, which stays this object's until close_clients_end(). If
    /// that fails, the result is -1, and errno says why.
    [[nodiscard]] int open_pair() noexcept;
    /// The C client has a duplicate of its end, and alone has one from here on.
    void close_clients_end() noexcept { clients_end_.reset(); }

    /// Another engine, which has taken over from the first one, speaks from here on.
    void go_on_with(std::unique_ptr<engine> next) noexcept { engine_ = std::move(next); }

    /// Brings the C client what has come from the server, up to a limit, as far as the pair has room for it.
    void bring_in(int server) noexcept;
    /// Sends the server all that the C client has written, as far as the socket takes it.
    void bring_out(int server) noexcept;
    /// Does what bring_out() does, and then tells the server that nothing more will come.
    void say_goodbye(int server) noexcept;

    /// The pair was full, so something that came is still in here.
    [[nodiscard]] bool holds_input() const noexcept { return !waiting_.empty(); }
    /// The socket took no more, so something that is to be sent is still in here.
    [[nodiscard]] bool holds_output() const noexcept { return !engine_->pending().empty(); }

    /// Nothing is in here, and the C client has read all and written nothing. The pair is open.
    [[nodiscard]] bool is_empty() const noexcept;

    /// Once it has ended: why, in words; empty if the server has hung up in good order.
    [[nodiscard]] const std::string& why() const noexcept { return engine_->failure(); }
    /// It has ended because the two ends did not agree: in the handshake, or because one of them has refused the other
    /// before the server has said anything to the C client.
    [[nodiscard]] bool has_failed() const noexcept;

    /// In a forked process: from here on, nothing in here is touched, nor freed if that could lock or write anything.
    void leave_to_parent() noexcept;

private:
    static constexpr std::size_t record = 16 * 1024; ///< the longest of TLS
    using buffer = std::array<char, record>;

    std::size_t receive(int server) noexcept;
    void send_pending(int server) noexcept;
    [[nodiscard]] bool give_to_client() noexcept;

    std::unique_ptr<engine> engine_;
    runtime::unique_fd own_end_;
    runtime::unique_fd clients_end_;
    bool hung_up_ = false;            ///< the server, or the network between
    std::span<const char> waiting_{}; ///< in input_: for the C client
    buffer input_;
};

} // namespace zklock::bridge
