// What has to be told even if memory fails meanwhile: the end of an epoch, of the lease and of the session, and news.
// After an exception, what a step has left half done is taken for unknown, as at the end of an epoch; and those who
// have not been told of something are told then.
#include "recipes/session/session.hpp"

#include <utility>

namespace zklock::recipes {

void session::give_up_epoch() noexcept
{
    lost_track_ = true;
    contact_lost();
    if (epoch_open_ && !over)
        return store.give_up_epoch(); // the epoch, whose end comes
    constexpr std::chrono::milliseconds before_next_attempt{10};
    constexpr int most_attempts = 16; // for a shortage of a moment; in a longer one the store sees to it
    for (int attempts = 0; settle_timer_ == 0 && attempts < most_attempts; ++attempts)
        try {
            plan(settle_timer_, scheduler.now() + before_next_attempt, &session::settle);
        } catch (const std::bad_alloc&) {
            continue;
        }
    if (!over || settle_timer_ == 0)
        store.give_up_epoch(); // until all is over, it connects anew; after that it has this called again
}

/// Makes up for what an exception has kept from being done. To be called again if it throws.
void session::settle()
{
    deliver_soon();
    if (over || epoch_open_)
        return;
    if (lost_track_)
        end_epoch();
    if (lapse_untold_)
        tell_lapse();
    if (expiry_untold_)
        tell_expiry();
    if (overdue_untold_)
        tell_overdue();
}

void session::end_epoch()
{
    left_watches_.clear();
    writes.epoch_ended();
    requests.epoch_ended();
    if (lost_track_)
        look_at_everything_again();
    for (session_member* member : members())
        member->epoch_ended();
    containers.epoch_ended();
    watch_overdue();
    lost_track_ = false;
}

void session::look_at_everything_again()
{
    beating_ = false;
    wanting_budget_.clear(); // they ask again
    for (session_member* member : members()) {
        member->distrust();
        look_at_later(*member);
    }
    if (!holders_.empty() && holders_timer_ == 0)
        plan(holders_timer_, scheduler.now(), &session::look_for_long_holders);
    notice_lapse(scheduler.now());
    if (lease_fresh())
        plan_lease_watch();
}

void session::tell_lapse()
{
    lapse_untold_ = true;
    for (session_member* member : members())
        member->lease_lapsed();
    lapse_untold_ = false;
}

void session::tell_expiry()
{
    lost_creates.session_ended();
    for (session_member* member : members())
        member->session_ended();
    expiry_untold_ = false;
}

/// Then the session should be over, by a clock that runs on while the machine sleeps: the servers, which may have heard
/// of it until the connection ended, keep it no longer, if they run.
void session::watch_overdue()
{
    if (overdue_timer_ != 0 || overdue_ || id_ == 0 || over)
        return;
    plan(overdue_timer_, should_be_over_, &session::notice_overdue);
}

void session::notice_overdue()
{
    if (epoch_open_ || over || id_ == 0)
        return;
    overdue_ = overdue_untold_ = true;
    log(log_level::warning, "session ", store::session_name{id_}, " should be over: nothing was heard of it for ",
        scheduler.now() - span()->heard(), "; it goes on if the servers still know it");
    change(connection_state::connecting);
    tell_overdue();
}

/// Nothing is forgotten for it: servers that were away may have the session still, with all its nodes.
void session::tell_overdue()
{
    for (session_member* member : members())
        member->session_overdue();
    overdue_untold_ = false;
}

/// If it cannot be posted now, what is told next or the next connection brings it along.
void session::deliver_soon() noexcept
{
    if (delivering_ || news_.empty())
        return;
    try {
        scheduler.post([alive = std::weak_ptr(alive_)] {
            if (const auto self = alive.lock())
                (*self)->deliver_news();
        });
        delivering_ = true;
    } catch (const std::bad_alloc&) {
        give_up_epoch();
    }
}

} // namespace zklock::recipes
