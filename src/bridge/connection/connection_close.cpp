#include "bridge/connection/connection.hpp"
#include "bridge/wire/readiness.hpp"

#include <utility>

// How a session ends in good order without a moment's stop. The library's own way waits on the thread: for room to send
// its request to close, and then for the socket to become readable. So it is called when there is room, and something
// to read; Asio does the waiting. And the socket stays open and is read until the server hangs up, because closing one
// with unread data resets the connection and may take the request to close with it.

namespace zklock::bridge {

void connection::close(std::function<void()> closed)
{
    if (!strand_)
        return;
    closed_ = std::move(closed);
    resolver_->cancel();
    const auto next = connector_.close(clock::now());
    if (next != connector::step::wait || !wire_.is_connected())
        return finish_closing();
    post(farewell_);
}

/// Waits until everything has left; then asks for something to read.
void connection::flush()
{
    if (connector_.now_in() != phase::flushing)
        return;
    wake_at(*connector_.due());
    auto next = next_interest();
    if (wire_.is_connected() && !next.write && !std::exchange(nudged_, true)) {
        nudge();
        next = next_interest();
    }
    if (!wire_.is_connected())
        return finish_closing();
    if (next.write)
        nudged_ = false; // it still has to leave, and its answer may be read meanwhile
    if (!inbox_.empty())
        deliver_later();
    socket_.await(next.write);
}

/// The server has answered something.
void connection::hang_up()
{
    const int server = socket_.descriptor();
    const int own = socket_.relay() ? wire_.descriptor() : server;
    const bool room =
        is_ready(server, POLLOUT) && (!socket_.relay() || (!socket_.relay()->holds_output() && is_ready(own, POLLOUT)));
    const bool answered = is_ready(own, POLLIN);
    if (!answered || !room) {
        socket_.await(!room, !answered); // what is not read now would wake it at once
        return;
    }
    wire_.close();
    if (socket_.relay())
        socket_.relay()->bring_out(server);
    if (!inbox_.empty())
        deliver_later();
    connector_.hung_up(clock::now());
    wake_at(*connector_.due());
    drain();
}

void connection::drain()
{
    socket_.skip([self = shared_from_this()](const error_code& ec, std::size_t) {
        if (self->connector_.now_in() == phase::draining)
            self->in_turn([&] { ec ? self->finish_closing() : self->drain(); });
    });
}

void connection::finish_closing()
{
    connector_.finished();
    empty_the_pair();
    wire_.abandon();
    part_from_socket();
    alarm_.cancel();
    inbox_.push(bridge::closed{});
    deliver_later();
}

void connection::stop(bool told_of_fork)
{
    if (!strand_)
        return;
    connector_.finished();
    resolver_->cancel();
    empty_the_pair();
    inbox_.discard();
    wire_.abandon();
    part_from_socket(told_of_fork);
    alarm_.drop();
    dialer_.stop();
    resolver_.reset();
    strand_.reset();
    // What the dropped functions own may come back here.
    auto dropped_inbox = std::exchange(inbox_, {});
    auto dropped_requests = take_unsent();
    auto dropped_close = std::exchange(closed_, nullptr);
    dropped_inbox.drop_discarded();
}

void connection::cut()
{
    inbox_.discard();
    if (strand_ && !wire_.is_forked())
        wire_.sever();
    stop();
}

} // namespace zklock::bridge
