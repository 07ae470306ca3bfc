// A connection's socket and its clock: what the C client waits for, and what happens when it comes.
#include "bridge/connection/connection.hpp"

#include <algorithm>
#include <utility>

#include <sys/socket.h>

namespace zklock::bridge {

namespace asio = boost::asio;
using boost::system::error_code;

/// Asks the library what it waits for, and waits for that.
void connection::refresh()
{
    refresh_due_ = false;
    if (!wire_.has_socket()) {
        follow_wire();
        return;
    }
    auto next = next_interest();
    follow_wire();
    if (!wire_.has_socket() || !io_)
        return;
#ifdef ZKLOCK_WITH_SASL
    if (!next.write && has_gate())
        leave_gate();
#endif
    // Where Asio once waited for writing, the kernel goes on telling it about that, with each answer that is waited
    // for.
    if (!next.write && io_->waited_for_writing && !io_->corked && !io_->reads_soon)
        watch_anew();
    await_socket(next.write);
    wake_at(std::min(clock::now() + next.within, connector_.due().value_or(clock::time_point::max())));
}

/// Tells the connector what became of the wire.
void connection::follow_wire()
{
    if (!inbox_.empty())
        deliver_later();
    if (wire_.is_dialing())
        return;
    if (wire_.has_socket()) {
        if (connector_.now_in() == phase::connecting && wire_.is_connected()) {
            connector_.opened(wire_.granted());
            history_.cycle_begins();
            note_reached();
        }
        return;
    }
    if (attempting_or_connected()) {
        const auto judged = judge_history();
        if (judged == history_check::verdict::ask)
            return attempt();
        if (judged == history_check::verdict::over)
            wire_.give_session_up();
        const auto lost = judged == history_check::verdict::over ? connector::loss::session : loss_of_the_wire();
        if (lost == connector::loss::session)
            history_.session_is_over();
        take(connector_.lost(lost, clock::now()));
        if (connector_.now_in() == phase::closed) {
            wire_.refused_by_all();
            alarm_.cancel(); // or the executor would have work until then
        }
    } else if (connector_.now_in() == phase::flushing) {
        finish_closing();
    }
}

bool connection::attempting_or_connected() const noexcept
{
    return connector_.now_in() == phase::connecting || connector_.now_in() == phase::connected;
}

/// What the attempt says of the servers' history, and of the session in it. Parts from the socket.
history_check::verdict connection::judge_history()
{
    if (history_.asks() == session_question::end)
        part_from_socket(); // what ends the session has to arrive
    else
        drop_socket();
    const bool may_ask = history_.ends() ? connector_.believes_expiry(clock::now()) : session_is_overdue();
    return history_.answered(wire_.take_answer(), may_ask, connector_.addresses());
}

/// Nothing was heard of it for its time-out, and for what a lease counts beside that. And who is asked would be
/// believed.
bool connection::session_is_overdue()
{
    const auto ends = connector_.session_ends();
    const auto margin =
        options_.lease_margin.value_or(std::max(wire_.granted() / 4, options_.server_tick));
    return ends && clock::now() >= *ends + margin + options_.server_tick &&
           connector_.believes_expiry(clock::now());
}

connector::loss connection::loss_of_the_wire()
{
    const bool by_tls = std::exchange(insecure_, false);
    if (wire_.log().was_refused())
        return connector::loss::credentials;
    if (by_tls)
        return connector::loss::security;
    switch (wire_.take_expiry()) {
    case expiry::believed: return connector::loss::session;
    case expiry::disbelieved: return connector::loss::disbelieved;
    case expiry::untold: break;
    }
    return connector::loss::connection;
}

void connection::drop_socket()
{
    if (!io_)
        return;
#ifdef ZKLOCK_WITH_SASL
    forget_gate();
#endif
    io_->relay.reset();
    forget_socket();
}

/// What still comes for the old one is ignored.
void connection::forget_socket()
{
    ++io_->socket_generation;
    io_->socket.reset();
    io_->awaiting_read = io_->awaiting_write = io_->waited_for_writing = io_->reads_soon = false;
    io_->corked = false;
}

/// Leaves nothing unread, because closing a socket with unread data resets it, and what the library sent last may be
/// lost.
void connection::part_from_socket(bool told_of_fork)
{
    if (io_ && wire_.is_forked()) {
        leave_socket_to_parent(told_of_fork);
        return;
    }
    if (io_ && io_->socket) {
        int own = io_->socket->native_handle();
        cork(false);
        if (io_->relay)
            io_->relay->say_goodbye(own);
        ::shutdown(own, SHUT_WR);
        while (::recv(own, scratch_.data(), scratch_.size(), MSG_DONTWAIT) > 0) {
        }
    }
    drop_socket();
}

void connection::await_socket(bool write, bool read)
{
    if (read && !io_->awaiting_read)
        await(to_read_);
    if (!write)
        return;
    io_->waited_for_writing = true;
    if (!io_->awaiting_write)
        await(to_write_);
}

/// If a wait for an earlier socket has not ended yet, the one for this socket begins when it does.
void connection::await(socket_wait& direction)
{
    if (!direction.wait.under_way()) {
        auto ended = [self = shared_from_this(), &direction,
                      generation = io_->socket_generation](const error_code& ec) {
            if (!self->io_ || self->wire_.is_forked())
                return; // or it is the parent's
            const bool ready = generation == self->io_->socket_generation && ec != asio::error::operation_aborted;
            if (self->is_awaiting(direction))
                self->turns_->run([&] { self->wait_ended(direction, ready); });
        };
        direction.wait.begin([&](auto handler) { io_->socket->async_wait(direction.what, std::move(handler)); },
                             std::move(ended));
    }
    (*io_).*direction.awaiting = true;
}

/// Where a turn is on its way that reads, no wait is.
bool connection::is_awaiting(const socket_wait& direction) const
{
    return (*io_).*direction.awaiting && !(io_->reads_soon && &direction == &to_read_);
}

void connection::wait_ended(socket_wait& direction, bool ready)
{
    (*io_).*direction.awaiting = false;
    if (ready)
        on_socket(&direction == &to_write_);
    else
        await(direction);
}

void connection::on_socket(bool writable)
{
#ifdef ZKLOCK_WITH_TLS
    if (io_->relay && wire_.is_dialing()) {
        shake_hands();
        deliver();
        return;
    }
#endif
    if (connector_.now_in() == phase::flushing && nudged_) {
        if (io_->relay)
            io_->relay->bring_in(server_socket());
        hang_up();
        return;
    }
    refresh_due_ = true;
    if (connector_.now_in() == phase::connecting)
        wire_.believe_expiry(connector_.believes_expiry(clock::now()));
    bool more = io_->relay ? receive_by_relay() : wire_.process(writable, packets_at_once);
    follow_wire();
    deliver();
    if (!io_ || !io_->socket)
        return;
    if (connector_.now_in() == phase::flushing) {
        flush();
        return;
    }
    if (more && !io_->awaiting_read)
        read_soon();
}

void connection::read_soon()
{
    post([generation = io_->socket_generation](connection& c) {
        if (generation != c.io_->socket_generation)
            return;
        c.io_->awaiting_read = c.io_->reads_soon = false;
        c.on_socket(false);
    });
    io_->awaiting_read = io_->reads_soon = true;
}

void connection::wake_at(clock::time_point when)
{
    alarm_.set(when, [self = shared_from_this()] { self->in_turn([&] { self->on_time(); }); });
}

void connection::on_time()
{
    if (const auto when = alarm_.rung(); clock::now() < when)
        return wake_at(when);
    go_on(connector_.time_passed(clock::now()));
    deliver();
}

} // namespace zklock::bridge
