#include "bridge/peers/link.hpp"

#include "runtime/sockets.hpp"

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/buffer.hpp>

#include <cerrno>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace zklock::bridge::peering {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

// A peer whose machine is gone: after so long without an answer to what was sent, or to a question in silence.
constexpr int unanswered_ms = 5'000;
constexpr int silent_s = 15;
constexpr int questions_each_s = 5;

void set(int descriptor, int level, int option, int value) noexcept
{
    // Where the system does not know one of these, the connection works without.
    (void)::setsockopt(descriptor, level, option, &value, sizeof value);
}

} // namespace

link::link(const runtime::strand& strand, std::shared_ptr<runtime::turns> turns, events told)
    : turns_(std::move(turns)), events_(std::make_shared<const events>(std::move(told))), forks_(runtime::fork_count()),
      socket_(strand)
{
}

/// Runs `f` in a turn, unless the connection is closed, or the parent's.
template <class F> void link::in_turn(F f)
{
    if (open_ && runtime::fork_count() == forks_)
        turns_->run(f);
}

error_code link::adopt(const tcp& protocol, runtime::unique_fd descriptor)
{
    if (const error_code wrong = runtime::take_over(std::move(descriptor), protocol, socket_))
        return wrong;
    prepare_socket();
    connected_ = true;
    read();
    return {};
}

/// Keeps the socket, which is open by now, from children, and sets its options.
void link::prepare_socket()
{
    const int own = socket_.native_handle();
    not_for_children_.emplace(own);
    set(own, IPPROTO_TCP, TCP_NODELAY, 1);
    set(own, SOL_SOCKET, SO_SNDBUF, kernel_keeps);
    set(own, SOL_SOCKET, SO_RCVBUF, kernel_keeps);
    set(own, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(own, IPPROTO_TCP, TCP_KEEPIDLE, silent_s);
    set(own, IPPROTO_TCP, TCP_KEEPINTVL, questions_each_s);
    set(own, IPPROTO_TCP, TCP_USER_TIMEOUT, unanswered_ms);
}

error_code link::connect(const endpoint& to)
{
    if (const error_code wrong = runtime::open_socket(to.protocol(), socket_))
        return wrong;
    prepare_socket();
    auto done = [self = shared_from_this()](const error_code& ec) {
        self->in_turn([&] {
            self->connected_ = !ec;
            self->went_on(ec);
        });
    };
    socket_.async_connect(to, asio::bind_allocator(of_write_.get(), std::move(done)));
    return {};
}

/// Connected, or there is room: goes on, or ends.
void link::went_on(const error_code& ec)
{
    const bool first = !std::exchange(awaiting_room_, false);
    if (!ec && first)
        read();
    if (!ec && flush())
        return;
    if (const auto told = events_)
        told->ended();
}

void link::read()
{
    auto came = [self = shared_from_this()](const error_code& ec, std::size_t count) {
        self->in_turn([&] {
            if (ec)
                return self->went_on(asio::error::eof);
            const auto told = self->events_; // which may be closed by that
            told->came(bytes(self->room_).first(count));
            if (self->open_)
                self->read();
        });
    };
    socket_.async_read_some(asio::buffer(room_), asio::bind_allocator(of_read_.get(), std::move(came)));
}

bool link::flush()
{
    if (!open_)
        return true;
    while (connected_ && !awaiting_room_ && sent_ < out_.size()) {
        const auto count =
            ::send(socket_.native_handle(), out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count >= 0)
            sent_ += static_cast<std::size_t>(count);
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            await_room();
        else if (errno != EINTR)
            return false;
    }
    if (sent_ == out_.size() || sent_ > most_unsent) {
        out_.erase(0, sent_);
        sent_ = 0;
    }
    return out_.size() - sent_ <= most_unsent;
}

void link::await_room()
{
    auto ready = [self = shared_from_this()](const error_code& ec) { self->in_turn([&] { self->went_on(ec); }); };
    socket_.async_wait(socket_type::wait_write, asio::bind_allocator(of_write_.get(), std::move(ready)));
    awaiting_room_ = true;
}

void link::close(bool to_parent) noexcept
{
    if (!std::exchange(open_, false))
        return;
    events_.reset();
    if (to_parent && socket_.is_open())
        runtime::leave_to_parent(socket_.native_handle());
    not_for_children_.reset();
    error_code ignored;
    socket_.close(ignored); // what has not been read yet resets it, which is as well
}

} // namespace zklock::bridge::peering
