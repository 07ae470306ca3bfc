// How what users do ends, and whether there is a reason for that: a part of acquisition_users.
#include "contender_names.hpp"
#include "users.hpp"

#include "queue/node_path.hpp"

#include <map>

namespace zklock::simulator {

using phase = use::phase;

void acquisition_users::lost(use& u)
{
    say(u, "is told that the lock is lost");
    if (u.lost)
        return violate(u, "lost twice");
    if (u.now != phase::holding)
        return violate(u, "lost while it does not hold");
    if (u.believes())
        return violate(u, "lost, and yet its lease goes on");
    if (!expects_faults() && !stage_.the_plan.set.leases_may_end_in_calm())
        violate(u, "lost, though nothing ever went wrong");
    check_loss(u);
    check_heard(u, lock_event::kind::lost, {});
    u.lost = true;
    u.now = phase::lost;
}

void acquisition_users::failed(use& u, boost::system::error_code ec, const recipes::grant& ended)
{
    say(u, "fails: " + ec.message());
    u.now = phase::failed;
    const bool was_granted = u.heard && u.heard->last() && u.heard->last()->what == lock_event::kind::lost;
    check_heard(u, was_granted ? lock_event::kind::lost : lock_event::kind::failed,
                was_granted ? boost::system::error_code() : ec);
    const auto is = [&](errc e) { return ec == make_error_code(e); };
    const auto& set = stage_.the_plan.set;
    if (is(errc::timed_out) || (is(errc::not_connected) && u.deadline && u.where->now() >= *u.deadline))
        return timed_out(u, is(errc::timed_out));
    if (is(errc::busy) && u.wish.look_once)
        return check_refusal(u);
    const bool may_be_lost = (expects_faults() && !calm_) || set.leases_may_end_in_calm();
    const bool granted_and_lost = is(errc::lost) && may_be_lost && !ended.node.empty();
    const bool tried_enough = most_attempts(u) != 0 && may_be_lost &&
                              (is(errc::lost) || is(errc::not_connected) || is(errc::session_expired));
    const bool explained = is(errc::closed) || granted_and_lost || (is(errc::not_connected) && u.wish.look_once) ||
                           (is(errc::access_denied) && refusals_) || (is(errc::invalid_option) && u.contradicted) ||
                           (is(errc::sequence_exhausted) && set.first_sequence > queue::sequence_limit - 100) ||
                           (is(errc::over_budget) && set.node_budget < 1000) || tried_enough || may_fail(u, ec);
    if (!explained)
        violate(u, "failed without a reason: " + ec.message());
}

/// `for_others`: it says that others have kept it waiting; else that it has no connection.
void acquisition_users::timed_out(use& u, bool for_others)
{
    if (!u.deadline)
        return violate(u, "timed out without a deadline");
    if (u.where->now() < *u.deadline)
        return violate(u, "timed out too early");
    if (!on_time(u))
        return;
    if (u.where->now() > *u.deadline + promptly && now() > u.began + promptly)
        violate(u, "timed out too late");
    if (!for_others && !expects_faults() && sees_holder(u))
        violate(u, "takes others for an outage");
    if (for_others && u.store->silent(promptly))
        violate(u, "takes an outage for others");
}

/// Another client has held what it waits for, for long enough to be seen.
bool acquisition_users::sees_holder(const use& u) const
{
    const recipe which = stage_.the_plan.which;
    if (is_shared(which) || which == recipe::semaphore || which == recipe::multi_lock)
        return false; // may be let in
    if (stage_.the_plan.set.may_run_short())
        return false; // the path may just be about to be made again
    const instant long_ago = now() - stage_.the_plan.set.a_while();
    return u.began < long_ago && std::any_of(uses_.begin(), uses_.end(), [&](const use& o) {
               return o.client != u.client && o.paths == u.paths && o.now == phase::holding && o.granted_at < long_ago;
           });
}

/// The servers show its node before all others, as if it held: it may not have heard of that yet.
bool acquisition_users::comes_first(const use& u)
{
    return std::ranges::any_of(u.paths, [&](unsigned path) {
        std::map<std::int64_t, std::string> contenders;
        for (const auto& name : stage_.ensemble.leaders_tree().children(path_of(path)))
            if (const auto number = contender_sequence(name))
                contenders.emplace(*number, queue::child_of(path_of(path), name));
        return !contenders.empty() && maker_of(contenders.begin()->second) == &u;
    });
}

/// One that looked once is refused for others only if there are any, or one of its own client has held the lock or is
/// first, or leaves a node of other options behind. (Those who wait for permits hold their line.)
void acquisition_users::check_refusal(const use& u)
{
    if (expects_faults() || stage_.the_plan.which == recipe::semaphore || !u.handle->refused_for_others())
        return;
    const bool others = std::any_of(uses_.begin(), uses_.end(), [&](const use& o) {
        const bool may_have_parts = o.paths.size() > 1;
        const bool never_held = (o.now == phase::waiting || o.now == phase::failed) && !may_have_parts;
        const bool alike = o.client == u.client && o.wish.other_options == u.wish.other_options;
        return share_a_path(o, u) && (!alike || !never_held || comes_first(o));
    });
    const auto& steps = stage_.the_plan.steps;
    const bool strangers = std::any_of(steps.begin(), steps.end(), [](const step& s) {
        return s.what == act::foreign_contender || s.what == act::foreign_out_of_turn;
    });
    if (!others && !strangers)
        violate(u, "looks once, and takes who waits in its own client for others");
}

/// Nobody waits for the end of a session that should be over, while the servers cannot be asked.
void acquisition_users::check_releasing(const use& u)
{
    const auto& set = stage_.the_plan.set;
    const auto margin = std::max(set.session_timeout / 4, set.tick);
    const auto by_its_clock = (margin + set.tick + set.session_timeout) * (1 + set.stated_drift);
    const auto limit = std::chrono::duration_cast<instant>(by_its_clock) + promptly; // it has to notice that first
    if (u.now != phase::releasing || u.lost || u.where->dead() || u.where->paused_until() + limit > now())
        return;
    if (u.store->silent(limit))
        violate(u, "its session should be over, and its release still waits");
}

void acquisition_users::released(const client& c, use& u, boost::system::error_code ec)
{
    say(u, "has released" + (ec ? ": " + ec.message() : std::string()));
    if (u.now != phase::releasing)
        violate(u, "released twice");
    u.now = phase::released;
    u.released_with = ec;
    u.back.ended(*u.store);
    if (u.lost && ec != make_error_code(errc::lost))
        violate(u, "lost, and released without that error");
    if (ec && !u.lost && !expects_faults())
        violate(u, "its release failed: " + ec.message());
    // Of an owner's holds all but the last end otherwise.
    if (u.owner != 0)
        return;
    const bool asks = !passes_nodes_on(u); // for the end of its nodes
    if (const auto fault = u.back.fault_of(ec, *u.store, stage_.ensemble, asks, excused(u)); !fault.empty())
        violate(u, std::string(fault));
    if (ec == make_error_code(errc::lost) && u.back.held())
        check_heard(u, lock_event::kind::lost, {});
    // A client that closes without a connection cannot know; nor can one that is told late, after servers were set
    // back. A leader that was given up may say of a session that has begun since that it is over. Permits that were
    // given back before have ends of their own.
    const bool at_once = stage_.the_plan.which != recipe::semaphore;
    if (ec || !asks || !at_once || c.closing || !on_time(u) || u.back.early() ||
        stage_.ensemble.answers_from_the_past())
        return;
    for (const auto& l : u.given)
        if (const auto* const node = stage_.ensemble.leaders_tree().find(l.node);
            node != nullptr && stage_.ensemble.alive(node->owner))
            violate(u, "released, and its node is still there");
}

} // namespace zklock::simulator
