#pragma once
#include "bridge/peers/addresses.hpp"
#include "bridge/peers/frames.hpp"
#include "runtime/forks.hpp"
#include "runtime/kept_memory.hpp"
#include "runtime/strand.hpp"
#include "runtime/turns.hpp"
#include "runtime/unique_fd.hpp"
#include "zklock/errc.hpp"

#include <boost/asio/basic_stream_socket.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace zklock::bridge::peering {

/// A TCP connection to another client: its socket, what is still to be sent, and a little room for what comes. Its
/// functions are called in turns of the strand.
class link final : public std::enable_shared_from_this<link> {
public:
    using socket_type = boost::asio::basic_stream_socket<boost::asio::ip::tcp, runtime::strand>;

    /// More than this is not kept for somebody who reads too slowly, besides what the kernel keeps.
    static constexpr std::size_t most_unsent = 64 * 1024;
    static constexpr int kernel_keeps = 64 * 1024; ///< each way

    /// Told in turns, and nothing after close().
    struct events {
        std::function<void(bytes)> came;
        std::function<void()> ended; ///< by the other end, or by an error: close() is still to be called
    };

    link(const runtime::strand&, std::shared_ptr<runtime::turns>, events);

    /// Makes a connection, and reads from it; or says why there is no socket for that.
    [[nodiscard]] error_code connect(const endpoint& to);
    /// Takes a descriptor over, whatever becomes of it, and reads from it; or says why that cannot be.
    [[nodiscard]] error_code adopt(const boost::asio::ip::tcp& protocol, runtime::unique_fd);

    /// What is put behind it leaves with the next flush().
    [[nodiscard]] std::string& out() noexcept { return out_; }
    /// Sends what can be sent now; the rest follows by itself. False if the connection is no good any more, or the
    /// other end is too slow.
    [[nodiscard]] bool flush();

    /// `to_parent`: this is a forked process, of which Asio was not told.
    void close(bool to_parent = false) noexcept;

private:
    void prepare_socket();
    void read();
    void await_room();
    void went_on(const error_code&);
    template <class F> void in_turn(F f);

    const std::shared_ptr<runtime::turns> turns_;
    std::shared_ptr<const events> events_; ///< null once closed
    const unsigned forks_;
    socket_type socket_;
    std::string out_;
    std::size_t sent_ = 0; ///< so much of it
    std::optional<runtime::kept_from_children> not_for_children_;
    bool open_ = true;
    bool connected_ = false;
    bool awaiting_room_ = false;
    runtime::memory_of_wait of_read_, of_write_;
    std::array<std::uint8_t, 2048> room_{};
};

} // namespace zklock::bridge::peering
