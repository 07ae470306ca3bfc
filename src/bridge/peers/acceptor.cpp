#include "bridge/peers/acceptor.hpp"

#include "runtime/sockets.hpp"

#include <boost/asio/ip/v6_only.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include <sys/socket.h>

namespace zklock::bridge::peering {

namespace {

constexpr int backlog = 1024; // accepted in a quarter of a second: who connects waits for a whole one

error_code last_error()
{
    return {errno, boost::system::system_category()};
}

/// What accept() says of the connection that it would have given, not of this process or its socket.
bool is_of_the_other_end(int error) noexcept
{
    switch (error) {
    case ECONNABORTED:
    case EINTR:
    case EPERM: // a firewall's
    case EPROTO:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH: return true;
    default: return false;
    }
}

} // namespace

acceptor::acceptor(const runtime::strand& strand, std::shared_ptr<runtime::turns> turns, const endpoint& at,
                   const store::logger& log, counters::counter& pauses, accepted told)
    : turns_(std::move(turns)), at_(at), at_text_(text_of(at)), log_(log), pauses_(pauses), accepted_(std::move(told)),
      forks_(runtime::fork_count()), socket_(strand)
{
}

error_code acceptor::bind()
{
    error_code wrong = runtime::open_socket(at_.protocol(), socket_);
    if (wrong)
        return wrong;
    not_for_children_.emplace(socket_.native_handle());
    error_code ignored;
    socket_.set_option(socket_type::reuse_address(true), ignored); // its last connections may linger
    if (at_.address().is_v6())
        socket_.set_option(boost::asio::ip::v6_only(false), ignored);
    socket_.bind(at_, wrong);
    if (!wrong)
        socket_.listen(backlog, wrong);
    if (!wrong)
        bound_ = socket_.local_endpoint(wrong);
    if (wrong) {
        not_for_children_.reset();
        socket_.close(ignored);
        bound_.reset();
    }
    return wrong;
}

void acceptor::open(time_point now)
{
    if (const error_code wrong = bind())
        return pause(now, "cannot listen for other clients on ", wrong);
    await();
    due_ = time_point::max();
    pause_ = first_pause;
    log_(log_level::info, "listens for other clients on ", at_text_, ", port ", std::int64_t{bound_->port()});
}

void acceptor::pause(time_point now, const char* what, const error_code& why) noexcept
{
    due_ = now + pause_;
    pause_ = std::min(2 * pause_, longest_pause);
    if (const auto left_out = failures_told_.say(now))
        log_(log_level::warning, what, at_text_, ": ", why, "; locks are handed over by the servers alone",
             store::times_left_out{*left_out});
}

void acceptor::await()
{
    if (wait_.under_way())
        return;
    auto ready = [self = shared_from_this()](const error_code& ec) {
        if (!ec && self->open_ && runtime::fork_count() == self->forks_)
            self->turns_->run([&] { self->accept(lease_clock::now()); });
    };
    wait_.begin([&](auto handler) { socket_.async_wait(socket_type::wait_read, std::move(handler)); },
                std::move(ready));
}

void acceptor::accept(time_point now)
{
    for (int n = 0; n < most_in_a_turn && open_; ++n) {
        if (!accepts_.take(now))
            return let_wait(now);
        endpoint other;
        auto size = static_cast<socklen_t>(other.capacity());
        runtime::unique_fd made(::accept4(socket_.native_handle(), other.data(), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!made) {
            accepts_.give_back(1);
            if (is_of_the_other_end(errno))
                continue;
            if (errno != EAGAIN && errno != EWOULDBLOCK)
                return pause(now, "cannot accept other clients on ", last_error());
            break;
        }
        other.resize(size);
        pause_ = first_pause;
        accepted_(std::move(made), other);
    }
    if (open_)
        await();
}

/// Until a turn may accept as many as ever: a timer for each would cost more than they do.
void acceptor::let_wait(time_point now) noexcept
{
    due_ = accepts_.next(now) + (most_in_a_turn - 1) * accept_each;
    pauses_.add();
    if (const auto left_out = floods_told_.say(now))
        log_(log_level::warning, "more than 4000 in a second connect to ", at_text_,
             ": some are left waiting, clients among them, which hear from the servers then",
             store::times_left_out{*left_out});
}

void acceptor::time_passed(time_point now)
{
    if (now < due_ || !open_)
        return;
    due_ = time_point::max();
    if (!bound_)
        return open(now);
    await(); // which is ready at once if somebody waits
}

void acceptor::close(bool to_parent) noexcept
{
    if (!std::exchange(open_, false))
        return;
    accepted_ = nullptr;
    bound_.reset();
    due_ = time_point::max();
    if (to_parent && socket_.is_open())
        runtime::leave_to_parent(socket_.native_handle());
    not_for_children_.reset();
    error_code ignored;
    socket_.close(ignored);
}

} // namespace zklock::bridge::peering
