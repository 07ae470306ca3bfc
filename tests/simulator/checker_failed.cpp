// Whether an acquire that ends without the lock has a reason, and names the right one; and whether a loss has one.
#include "checker.hpp"

#include "stage.hpp"

#include <algorithm>

namespace zklock::simulator {

using phase = contender_record::phase;

bool checker::sees_holder(const contender_record& c) const
{
    const recipe which = plan_.which;
    if (is_shared(which) || which == recipe::semaphore || which == recipe::multi_lock)
        return false; // may be let in
    if (plan_.set.may_run_short())
        return false; // the path may just be about to be made again
    const instant long_ago = world_.time.now() - plan_.set.a_while();
    return c.began < long_ago && std::any_of(records_.begin(), records_.end(), [&](const contender_record& o) {
               return o.client != c.client && o.path == c.path && o.now == phase::holding && o.granted_at < long_ago;
           });
}

/// What was granted is not lost by the lease if the servers have answered ever since.
void checker::check_loss(const contender_record& c)
{
    const auto loss = c.handle->loss(c.where->now());
    const bool ran = c.where->paused_until() + promptly_ <= c.granted_at; // the news of the grant was not late
    if (loss && loss->reason == loss_reason::lease_ended && ran && c.store->served_since(c.granted_at) &&
        world_.set.scarce_memory == 0 && !world_.set.leases_may_end_in_calm())
        world_.violate(label(c) + ": its lease has ended, though the servers have answered since the grant");
}

/// One that looked once is refused for others only if there are any, or one of its own client has held the lock.
void checker::check_refusal(const contender_record& c)
{
    if (expects_faults_ || plan_.which != recipe::mutex || !c.handle->refused_for_others())
        return;
    const bool others = std::any_of(records_.begin(), records_.end(), [&](const contender_record& o) {
        const bool never_held = o.now == phase::waiting || o.now == phase::failed;
        return o.path == c.path && (o.client != c.client || !never_held);
    });
    const bool strangers = std::any_of(plan_.steps.begin(), plan_.steps.end(), [](const step& s) {
        return s.what == act::foreign_contender || s.what == act::foreign_out_of_turn;
    });
    if (!others && !strangers)
        world_.violate(label(c) + ": looks once, and takes who waits in its own client for others");
}

void checker::failed(contender_record& c, boost::system::error_code ec, const recipes::grant& ended)
{
    say(c, "fails: " + ec.message());
    if (c.now != phase::waiting)
        return world_.violate(label(c) + ": failed, though its wait had ended: " + ec.message());
    c.now = phase::failed;
    const auto is = [&](errc e) { return ec == make_error_code(e); };
    if (is(errc::timed_out) || (is(errc::not_connected) && c.deadline && c.where->now() >= *c.deadline)) {
        if (!c.deadline)
            return world_.violate(label(c) + ": timed out without a deadline");
        if (c.where->now() < *c.deadline)
            return world_.violate(label(c) + ": timed out too early");
        const bool on_time = c.where->paused_until() + promptly_ < world_.time.now();
        if (c.where->now() > *c.deadline + promptly_ && on_time && world_.time.now() > c.began + promptly_) {
            return world_.violate(label(c) + ": timed out too late");
        }
        if (is(errc::not_connected) && !expects_faults_ && on_time && sees_holder(c)) {
            return world_.violate(label(c) + ": takes others for an outage");
        }
        if (is(errc::timed_out) && on_time && c.store->silent(promptly_)) {
            return world_.violate(label(c) + ": takes an outage for others");
        }
        return;
    }
    if (is(errc::closed))
        return; // by the schedule, or at its end
    if (is(errc::lost) && !ended.node.empty() && (expects_faults_ || world_.set.leases_may_end_in_calm()))
        return;
    if (is(errc::busy) && c.wish.look_once)
        return check_refusal(c);
    if (is(errc::not_connected) && c.wish.look_once)
        return;
    if (is(errc::access_denied) && expects_refusals_)
        return;
    if (is(errc::invalid_option) && c.may_be_refused)
        return;
    if (is(errc::sequence_exhausted) && plan_.set.first_sequence > queue::sequence_limit - 100)
        return;
    if (is(errc::over_budget) && plan_.set.node_budget < 1000)
        return;
    if (c.wish.max_attempts != 0 && expects_faults_)
        return;
    world_.violate(label(c) + ": failed without a reason: " + ec.message());
}

} // namespace zklock::simulator
