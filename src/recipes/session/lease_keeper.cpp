#include "recipes/session/lease_keeper.hpp"

#include "recipes/session/session.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace zklock::recipes {
namespace {

constexpr std::chrono::milliseconds between_looks_at_holders{100};
constexpr lease_clock::duration least_slow_turn = std::chrono::milliseconds(20);

/// From 0 to 1, and as good as by chance for another session or time: the finalizer of splitmix64.
double chance_of(std::int64_t session, store::scheduler::time_point now) noexcept
{
    auto x = static_cast<std::uint64_t>(session) * 0x9e3779b97f4a7c15U +
             static_cast<std::uint64_t>(now.time_since_epoch().count());
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    x ^= x >> 31;
    return static_cast<double>(x >> 11) * 0x1p-53;
}

} // namespace

lease_keeper::lease_keeper(session& s)
    : session_(s),
      lease_({s.options.clock_drift, s.options.server_tick, s.options.lease_margin, s.options.loss_notice, {}}),
      beat_timer_(s), lapse_timer_(s), holders_timer_(s), over_timer_(s)
{
}

bool lease_keeper::fresh() const
{
    return fresh(session_.scheduler.now());
}

void lease_keeper::open(const store::connect_reply& answer, time_point now)
{
    // A leader that takes over knows of no other time than the one the session began with; and what the server that the
    // session has just left reports of it may come late. So the shortest of these times and the new one counts.
    const std::chrono::nanoseconds granted = answer.session_timeout;
    over_timer_.call_off();
    if (awaited_since_)
        awaited_since_ = now; // over this connection
    if (answer.renewed)
        first_granted_ = last_granted_ = granted;
    const auto timeout = std::min({first_granted_, std::exchange(last_granted_, granted), granted});
    if (answer.renewed || timeout != times().timeout) {
        // A server with other limits has taken the same session over: what is held was granted on another lease.
        lease_.open(timeout);
        if (beat_timer_.planned()) // its turn has not come since
            count_beat_not_sent(now);
        // They were planned for the earlier lease, which may have been longer.
        beat_timer_.call_off();
        lapse_timer_.call_off();
        tell_lapse();
    }
    // A session comes into being by a majority. That it goes on may be the word of a leader that was paused, and does
    // not know yet that others have taken over.
    if (answer.renewed)
        lease_.opened(answer.sent, now);
    else
        taken_up_ = {answer.sent, now};
}

void lease_keeper::epoch_began()
{
    if (!taken_up_)
        return;
    notice_lapse(session_.scheduler.now());
    lease_.answered(taken_up_->sent, taken_up_->answered);
    taken_up_.reset();
}

void lease_keeper::connection_ended(time_point now)
{
    taken_up_.reset();
    over_at_ = now + std::max(first_granted_, last_granted_) + times().margin() + times().tick;
    over_timer_.plan(over_at_, [this] { session_should_be_over(); });
}

void lease_keeper::session_should_be_over()
{
    if (session_.id() == 0)
        return; // the client has failed
    session_.log(log_level::warning, "session ", store::session_name{session_.id()},
                 " should be over: nothing was heard of it for ", session_.scheduler.now() - span()->heard(),
                 "; it goes on if the servers still know it");
    session_.tell_overdue();
}

void lease_keeper::end()
{
    lease_.end();
    over_timer_.call_off();
}

void lease_keeper::heard(const store::reply& answer)
{
    heard(answer, session_.scheduler.now());
}

void lease_keeper::heard(const store::reply& answer, time_point now)
{
    if (answer.result == store::outcome::unknown)
        return session_.contact_lost();
    notice_lapse(now);
    if (answer.result != store::outcome::ok)
        return;
    lease_.answered(answer.sent, now);
    if (!awaited_since_ || !renewable(now))
        return;
    awaited_since_.reset();
    session_.tell_members(&session_member::advance);
}

errc lease_keeper::time_is_up(bool others) const noexcept
{
    const bool heard_of_late = session_.scheduler.now() - span()->heard() < times().timeout;
    return others && heard_of_late ? errc::timed_out : errc::not_connected;
}

// --- heartbeats ------------------------------------------------------------------------------------------------------

void lease_keeper::plan_beat()
{
    if (beat_timer_.planned() || !session_.connected())
        return;
    beat_due_ = std::max(session_.scheduler.now(), lease_.next_heartbeat());
    beat_timer_.plan(beat_due_, [this] { beat(); });
}

/// Perhaps the connection is lost because the turn comes so late. If it comes in time, there was no heartbeat to delay.
void lease_keeper::count_beat_not_sent(time_point now) noexcept
{
    if (now - beat_due_ >= bearable_delay())
        session_.counters.heartbeat_delays.add(now - beat_due_);
}

/// A sync, because it goes through the leader.
void lease_keeper::beat()
{
    const auto now = session_.scheduler.now();
    if (!session_.connected())
        return count_beat_not_sent(now);
    session_.requests().proceed();
    if (now < lease_.next_heartbeat())
        return plan_beat();
    if (beating_)
        return; // its answer plans the next
    session_.store.sync("/", [this](const store::reply& answer) {
        beating_ = false;
        const auto answered = session_.scheduler.now();
        if (answer.result == store::outcome::ok)
            session_.counters.heartbeats.add(answered - answer.sent);
        lease_.heartbeat_answered(answer.sent, answered, chance_of(session_.id(), answered));
        heard(answer, answered); // not a moment later: the next may be planned for a margin after it
        end_tries(answered);
        plan_beat();
    });
    beating_ = true;
    session_.counters.heartbeat_delays.add(now - beat_due_);
}

/// A try does not wait for better times.
void lease_keeper::end_tries(time_point now)
{
    if (awaited_since_ && now - *awaited_since_ >= times().timeout)
        session_.tell_members(&session_member::refuse_tries);
}

// --- the end of the lease --------------------------------------------------------------------------------------------

void lease_keeper::notice_lapse(time_point now)
{
    if (!lease_.lapsed(now))
        return;
    lease_.end();
    tell_lapse();
}

void lease_keeper::tell_lapse()
{
    session_.tell_members(&session_member::lease_lapsed);
}

void lease_keeper::plan_watch()
{
    if (!lapse_timer_.planned())
        lapse_timer_.plan(lease_.ends(), [this] { watch(); });
}

void lease_keeper::watch()
{
    notice_lapse(session_.scheduler.now());
    if (fresh())
        plan_watch();
}

// --- holders ---------------------------------------------------------------------------------------------------------

void lease_keeper::granted(session_member& member)
{
    plan_watch();
    look_at_later(member);
    plan_look(session_.scheduler.now());
    // What was answered since it was planned may count sooner: the lease that the lock is granted on may need that.
    const bool sooner = std::max(session_.scheduler.now(), lease_.next_heartbeat()) < beat_due_; // or it is due
    if (beat_timer_.planned() && sooner) {
        beat_timer_.call_off();
        plan_beat();
    }
}

void lease_keeper::look_at_later(session_member& member)
{
    if (member.among_holders_)
        return;
    holders_.push_back(&member);
    member.among_holders_ = true;
}

void lease_keeper::plan_look(time_point now)
{
    if (!holders_timer_.planned())
        holders_timer_.plan(now + between_looks_at_holders, [this] { look_for_long_holders(); });
}

void lease_keeper::look_for_long_holders()
{
    const auto now = session_.scheduler.now();
    const auto lately = std::exchange(holders_, {});
    for (session_member* member : lately)
        member->among_holders_ = false;
    for (session_member* member : lately)
        if (member->notice_long_holder(now))
            look_at_later(*member);
    if (!holders_.empty())
        plan_look(now);
}

void lease_keeper::forget(session_member& member) noexcept
{
    std::erase(holders_, &member);
}

// --- turns that come late --------------------------------------------------------------------------------------------

/// By how much a turn may be late that a timer has begun: the lease cannot bear more often.
lease_clock::duration lease_keeper::bearable_delay() const noexcept
{
    return std::max(
        {lease_clock::duration(times().margin() / 4), lease_clock::duration(times().timeout / 16), least_slow_turn});
}

void lease_keeper::notice_slow_turn(time_point due) noexcept
{
    if (!session_.log.on(log_level::warning))
        return;
    const auto now = session_.scheduler.now();
    if (now - due < bearable_delay())
        return;
    if (const auto left_out = slow_turns_.say(now))
        session_.log(log_level::warning, "a turn of the client began ", now - due,
                     " late, and so did its heartbeats: something blocks its executor, or this process did not run",
                     store::times_left_out{*left_out});
}

} // namespace zklock::recipes
