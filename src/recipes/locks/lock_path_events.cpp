// What the session tells a lock_path.
#include "recipes/locks/lock_path.hpp"

#include <vector>

namespace zklock::recipes {

void lock_path::epoch_began()
{
    queue_.epoch_began();
    advance();
}

void lock_path::refuse_all(errc why)
{
    fail_waiting(why);
    advance();
}

void lock_path::epoch_ended()
{
    session_.writes.take_back(*this, [this](queue::contender_id unsent) { queue_.remove_failed(unsent); });
    queue_.epoch_ended();
    if (look_ && !look_->found())
        forget_look();
    fail_waiting(errc::not_connected, acquire_mode::look_once);
    advance();
}

void lock_path::session_ended()
{
    for (const auto& [id, contender] : contenders_) {
        contender->setback = errc::session_expired;
        contender->offer.reset(); // its node is gone
    }
    queue_.session_ended();
    advance();
}

void lock_path::session_overdue()
{
    for (const auto& [id, contender] : contenders_)
        contender->wait_no_longer();
}

void lock_path::lease_lapsed()
{
    for (const auto& [id, contender] : contenders_)
        contender->lose(node_of_holder(id));
    queue_.lapse();
    advance();
}

void lock_path::stop(errc why)
{
    for (const auto& [id, contender] : contenders_) {
        contender->fail(why);
        contender->finish_downgrade(why, {});
        contender->lose(node_of_holder(id));
        contender->finish_release(why);
    }
}

bool lock_path::notice_long_holder(store::scheduler::time_point now)
{
    constexpr std::chrono::milliseconds long_hold{100};
    bool more = !queue_.own().downgrading().empty(); // it is among the holders before and after
    for (queue::contender_id id : queue_.own().holders()) {
        const bool long_since = now - contenders_.at(id)->held_since() >= long_hold;
        if (long_since)
            queue_.hold_on(id);
        else
            more = true;
    }
    advance();
    return more;
}

void lock_path::on_node_event(store::event_kind kind, std::string_view, std::string_view node)
{
    if (kind == store::event_kind::deleted) {
        note_deletion(node);
        queue_.node_gone(node);
    } else {
        queue_.watch_fired(node);
    }
    advance();
}

/// A waiter loses its place so; a holder's loss is told by itself.
void lock_path::note_deletion(std::string_view node)
{
    const contender_ptr* const its = contenders_.find(queue_.contender_of(node));
    if (its && (*its)->waiting())
        (*its)->setback = session_.losses.note_waiters_node_gone(path_, node);
}

/// Takes note of how an answer about the path itself ended: a client that was refused a create or a delete there may
/// not be allowed to read either, and has then missed events.
void lock_path::notice_refusal(store::outcome result)
{
    if (result == store::outcome::no_auth)
        queue_.path_refused();
}

void lock_path::on_own_event(store::event_kind kind, std::string_view)
{
    switch (kind) {
    case store::event_kind::deleted: queue_.parent_deleted(); break;
    case store::event_kind::children_changed: queue_.children_changed(); break;
    case store::event_kind::created:
    case store::event_kind::data_changed: queue_.parent_changed(); break;
    }
    advance();
}

void lock_path::budget_freed()
{
    wants_budget_ = false;
    if (session_.over)
        return;
    session_.writes.name_create(*this, next_to_create());
}

} // namespace zklock::recipes
