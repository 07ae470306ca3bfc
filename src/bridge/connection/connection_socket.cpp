// A connection's socket and its clock: what the C client waits for, and what happens when it comes.
#include "bridge/connection/connection.hpp"

#include <algorithm>

namespace zklock::bridge {

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
    if (!wire_.has_socket() || !strand_)
        return;
#ifdef ZKLOCK_WITH_SASL
    if (!next.write)
        dialer_.leave_gate(held_back_);
#endif
    if (!next.write)
        socket_.forget_writing();
    socket_.await(next.write);
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
            note_reached();
        }
        return;
    }
    if (connector_.attempting_or_connected()) {
        const auto judged = judge_history();
        if (judged == history_check::verdict::ask)
            return dialer_.attempt(history_.asks());
        if (judged == history_check::verdict::over)
            wire_.give_session_up();
        const auto lost = wire_.take_loss();
        if (lost == loss::session)
            history_.session_is_over();
        take(connector_.lost(lost, connector::moment::now()));
        if (connector_.now_in() == phase::closed) {
            wire_.refused_by_all();
            alarm_.cancel(); // or the executor would have work until then
        }
    } else if (connector_.now_in() == phase::flushing) {
        finish_closing();
    }
}

/// What the attempt says of the servers' history, and of the session in it. Parts from the socket.
history_check::verdict connection::judge_history()
{
    if (history_.asks() == session_question::end)
        part_from_socket(); // what ends the session has to arrive
    else
        dialer_.drop_socket();
    const auto now = connector::moment::now();
    const auto judged = history_.answered(wire_.take_answer(), connector_.believes_expiry(now),
                                          connector_.session_is_overdue(now.lease), connector_.vote_decides());
    if (judged == history_check::verdict::voted)
        connector_.count_vote();
    return judged;
}

/// In good order, so that what the library sent last arrives.
void connection::part_from_socket(bool told_of_fork)
{
    if (strand_ && wire_.is_forked()) {
        dialer_.leave_to_parent(told_of_fork);
        return;
    }
    if (socket_.is_open())
        socket_.say_goodbye();
    dialer_.drop_socket();
}

void connection::wait_ended(bool for_writing, bool ready)
{
    in_turn([&] {
        if (socket_.go_on(for_writing, ready))
            on_socket(for_writing);
    });
}

void connection::on_socket(bool writable)
{
#ifdef ZKLOCK_WITH_TLS
    if (socket_.relay() && wire_.is_dialing()) {
        dialer_.shake_hands();
        deliver();
        return;
    }
#endif
    if (connector_.now_in() == phase::flushing && nudged_) {
        if (socket_.relay())
            socket_.relay()->bring_in(socket_.descriptor());
        hang_up();
        return;
    }
    refresh_due_ = true;
    const bool was_connected = connector_.now_in() == phase::connected;
    if (connector_.now_in() == phase::connecting)
        wire_.believe_expiry(connector_.believes_expiry(connector::moment::now()));
    bool more = socket_.relay() ? receive_by_relay() : wire_.process(writable, wire::packets_at_once);
    follow_wire();
    deliver();
    if (!strand_ || !socket_.is_open())
        return;
    if (connector_.now_in() == phase::flushing) {
        flush();
        return;
    }
    if (more && !socket_.awaits_reading())
        read_soon();
    // If the library has nothing to write, it waits as before, for longer than it has said: asking it costs as much as
    // reading an answer.
    const bool waits_as_before = was_connected && connector_.now_in() == phase::connected && !more && !writable &&
                                 !socket_.awaits_writing() && !socket_.relay();
    if (waits_as_before) {
        socket_.await(false);
        refresh_due_ = false;
    }
}

void connection::read_soon()
{
    post([turn = socket_.generation()](connection& c) {
        if (c.socket_.begin_read(turn))
            c.on_socket(false);
    });
    socket_.read_soon();
}

void connection::wake_at(clock::time_point when)
{
    if (alarm_.rings_by(when))
        return;
    alarm_.set(when, [self = shared_from_this()] { self->in_turn([&] { self->on_time(); }); });
}

void connection::on_time()
{
    if (const auto when = alarm_.rung(); clock::now() < when)
        return wake_at(when);
    go_on(connector_.time_passed(connector::moment::now()));
    deliver();
}

} // namespace zklock::bridge
