#include "bridge/wire/pair_relay.hpp"
#include "bridge/wire/readiness.hpp"

#include <cerrno>
#include <cstring>
#include <string_view>

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace zklock::bridge {

namespace {

// In one call: after that, the executor's other work comes first.
constexpr std::size_t most_received = 4 * 16 * 1024;
// What is given to the engine before it is sent: then one call sends what a busy turn has written, and where the socket
// takes nothing, no more than this, and a record, is in memory.
constexpr std::size_t most_gathered = 64 * 1024;

// More than that waits only for a server that has the engine answer again and again, and reads none of the answers.
constexpr std::size_t most_unsent = 1024 * 1024;

} // namespace

auto pair_relay::now_in() const noexcept -> state
{
    switch (engine_->now_in()) {
    case engine::state::handshaking: return state::handshaking;
    case engine::state::open: return state::open;
    case engine::state::ended:
    case engine::state::failed: break;
    }
    return holds_input() ? state::open : state::ended;
}

bool pair_relay::has_failed() const noexcept
{
    if (now_in() != state::ended || engine_->heard())
        return false;
    const bool agreed = static_cast<bool>(own_end_);
    return !agreed || (engine_->now_in() == engine::state::failed && !hung_up_);
}

auto pair_relay::shake_hands(int server) noexcept -> state
{
    for (;;) {
        const auto now = engine_->advance();
        send_pending(server);
        if (now != engine::state::handshaking)
            break;
        if (receive(server) == 0 && engine_->now_in() == engine::state::handshaking)
            break;
    }
    return now_in();
}

int pair_relay::open_pair() noexcept
{
    std::array<int, 2> ends{-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) == -1)
        return -1;
    own_end_ = runtime::unique_fd(ends[0]);
    clients_end_ = runtime::unique_fd(ends[1]);
    return ends[1];
}

bool pair_relay::is_empty() const noexcept
{
    int unread = 0; // of what was given to the C client
    return !holds_input() && !holds_output() && !is_ready(own_end_.get(), POLLIN) &&
           ::ioctl(own_end_.get(), SIOCOUTQ, &unread) == 0 && unread == 0;
}

/// Has the engine take what came, and returns how much that was; 0 also where the connection has ended.
std::size_t pair_relay::receive(int server) noexcept
{
    if (engine_->pending().size() > most_unsent) {
        hung_up_ = true;
        engine_->no_more("the server wants answers, and takes none");
        return 0;
    }
    buffer came;
    ssize_t got = -1;
    do
        got = ::recv(server, came.data(), came.size(), MSG_DONTWAIT);
    while (got == -1 && errno == EINTR);
    if (got > 0) {
        engine_->put({came.data(), static_cast<std::size_t>(got)});
        return static_cast<std::size_t>(got);
    }
    const int error = errno;
    if (got == 0 || error != EAGAIN) {
        hung_up_ = true;
        engine_->no_more(got == 0 ? std::string_view() : std::string_view(std::strerror(error)));
    }
    return 0;
}

void pair_relay::bring_in(int server) noexcept
{
    bool all = false;
    for (std::size_t received = 0; give_to_client();) {
        if (const auto plain = engine_->read(input_); plain != 0) {
            waiting_ = {input_.data(), plain};
            continue;
        }
        if (engine_->now_in() != engine::state::open) {
            ::shutdown(own_end_.get(), SHUT_WR);
            break;
        }
        if (all || received >= most_received)
            break;
        const auto got = receive(server);
        received += got;
        // Less than there was room for is all. What has come meanwhile, or an end, makes the socket readable.
        all = got < record;
    }
    send_pending(server); // an answer of the engine's own
}

/// False if the pair takes no more.
bool pair_relay::give_to_client() noexcept
{
    while (!waiting_.empty()) {
        const auto took = ::send(own_end_.get(), waiting_.data(), waiting_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (took >= 0)
            waiting_ = waiting_.subspan(static_cast<std::size_t>(took));
        else if (errno == EAGAIN)
            return false;
        else if (errno != EINTR)
            waiting_ = {}; // the C client has closed its end
    }
    return true;
}

void pair_relay::bring_out(int server) noexcept
{
    buffer plain;
    for (bool all = false; !all;) {
        send_pending(server);
        if (holds_output())
            return;
        while (!all && engine_->pending().size() < most_gathered) {
            const auto got = ::recv(own_end_.get(), plain.data(), plain.size(), MSG_DONTWAIT);
            if (got == -1 && errno == EINTR)
                continue;
            // Less than there is room for is all: nobody writes meanwhile.
            all = got < static_cast<ssize_t>(plain.size());
            if (got > 0 && !engine_->write({plain.data(), static_cast<std::size_t>(got)}))
                all = true; // it has ended, and with it what was not sent
        }
    }
    send_pending(server);
}

void pair_relay::say_goodbye(int server) noexcept
{
    bring_out(server);
    engine_->shut_down();
    send_pending(server);
}

void pair_relay::send_pending(int server) noexcept
{
    while (holds_output()) {
        const auto out = engine_->pending();
        const auto took = ::send(server, out.data(), out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (took >= 0) {
            engine_->sent(static_cast<std::size_t>(took));
        } else if (errno == EAGAIN) {
            return;
        } else if (errno != EINTR) {
            // What came before can still be read; after it, the end.
            ::shutdown(server, SHUT_RDWR);
            engine_->sent(out.size());
        }
    }
}

void pair_relay::leave_to_parent() noexcept
{
    (void)engine_.release(); // NOLINT: another thread of the parent may have had a lock of a library's
}

} // namespace zklock::bridge
