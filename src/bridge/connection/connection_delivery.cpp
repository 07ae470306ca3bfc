#include "bridge/connection/connection.hpp"

#include <utility>

// What goes in and out: the requests of one turn leave together, and everything that came is given to
// the caller from one queue.

namespace zklock::bridge {

bool connection::may_send() const noexcept
{
    return strand_ && connector_.now_in() == phase::connected && wire_.is_connected() && knows_connection() &&
           !wire_.is_forked();
}

/// The first request of a turn holds the socket back.
void connection::hold_back()
{
    made_.add();
    if (std::exchange(held_back_, true))
        return;
    answers_due_ = unanswered() != 0;
    socket_.cork(true);
}

/// A turn's requests leave at its end, if the server has nothing else to do; if it has, they wait for those of the
/// other turns that can run now.
void connection::turn_ends()
{
    if (!strand_)
        return;
    if (giving_up_ && may_send()) {
        wire_.sever();
        follow_wire();
    }
    giving_up_ = false;
    if (held_back_ && answers_due_)
        post(send_);
    else if (held_back_)
        send();
    else if (refresh_due_ && socket_.is_open() && connector_.attempting_or_connected())
        refresh();
    if (!held_back_)
        refresh_due_ = false;
    if (!inbox_.empty())
        post(deliver_);
}

void connection::send()
{
    held_back_ = false;
    socket_.cork(false);
    if (connector_.now_in() == phase::connected)
        refresh();
    else if (socket_.relay())
        flush();
}

/// Has the inbox delivered in the turn after this one, if that is not done by the end of this one.
void connection::deliver_later()
{
    if (!turns_->open())
        post(deliver_);
}

/// Gives to the caller what is in the inbox now; what that brings about comes in a later turn.
void connection::deliver()
{
    for (auto n = to_be_told(); n > 0 && strand_ && !inbox_.empty(); --n)
        dispatch(take_next());
    inbox_.shrink();
    if (strand_ && !inbox_.empty())
        deliver_later();
}

/// Has the connection given up at the end of the turn.
void connection::give_up_session()
{
    history_.end_session();
    if (connector_.now_in() < phase::flushing)
        giving_up_ = knows_epoch();
    if (strand_)
        deliver_later(); // with a turn's end
}

void connection::dispatch(message m)
{
    if (auto* a = std::get_if<answer>(&m)) {
        if (a->to->through_leader && a->result == store::outcome::ok && !connector_.proved() && may_send())
            connector_.served(clock::now());
        a->deliver();
        if (a->to->results)
            take_back(std::move(a->to->results));
    } else if (auto* e = std::get_if<node_event>(&m)) {
        observer_->on_node_event(e->kind, e->path);
    } else if (auto* c = std::get_if<connected>(&m)) {
        told_of(c->epoch);
        c->reply.sent = dialer_.began();
        observer_->on_connected(c->reply);
    } else if (std::holds_alternative<disconnected>(m)) {
        told_of_loss();
        observer_->on_disconnected();
    } else if (std::holds_alternative<expired>(m)) {
        observer_->on_expired();
    } else if (std::holds_alternative<authentication_failed>(m)) {
        observer_->on_authentication_failed();
    } else if (auto* line = std::get_if<log_line>(&m)) {
        wire_.log().write(*line);
    } else {
        finished_ = true;
        auto dropped = std::exchange(inbox_, {});
        auto done = std::exchange(closed_, nullptr);
        if (done)
            done();
    }
}

} // namespace zklock::bridge
