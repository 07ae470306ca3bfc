// A session's lease: what renews it, and when it has ended; session_ends.cpp tells the members. Also how a session
// catches up with the leader.
#include "recipes/session/session.hpp"

#include "recipes/session/error_mapping.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace zklock::recipes {
namespace {

constexpr std::chrono::milliseconds between_looks_at_holders{100};

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

void session::open_lease(const store::connect_reply& answer, store::scheduler::time_point now)
{
    // A leader that takes over knows of no other time than the one the session began with; and what the server that the
    // session has just left reports of it may come late. So the shortest of these times and the new one counts.
    const std::chrono::nanoseconds granted = answer.session_timeout;
    if (unopened_)
        first_granted_ = last_granted_ = granted;
    const auto timeout = std::min({first_granted_, std::exchange(last_granted_, granted), granted});
    if (unopened_ || timeout != lease_.times().timeout) {
        // A server with other limits has taken the same session over: what is held was granted on another lease.
        lease_.open(timeout);
        if (beat_timer_ != 0) // its turn has not come since
            count_beat_not_sent(now);
        // They were planned for the earlier lease, which may have been longer.
        for (store::scheduler::timer_id* timer : {&beat_timer_, &lease_timer_})
            call_off(*timer);
        tell_lapse();
    }
    // A session comes into being by a majority. That it goes on may be the word of a leader that was paused, and does
    // not know yet that others have taken over.
    if (unopened_)
        lease_.opened(*unopened_, now);
    else
        taken_up_ = answer.sent;
    unopened_.reset();
}

void session::heard(const store::reply& answer)
{
    if (answer.result == store::outcome::unknown)
        return contact_lost();
    const auto now = scheduler.now();
    notice_lapse(now);
    if (answer.result != store::outcome::ok)
        return;
    const bool was_fresh = lease_.fresh(now);
    lease_.answered(answer.sent, now);
    if (!was_fresh && lease_.fresh(now))
        for (session_member* member : members())
            member->advance();
}

errc session::time_is_up(bool others) const noexcept
{
    const bool heard_of_late = scheduler.now() - span()->heard() < lease_.times().timeout;
    return others && heard_of_late ? errc::timed_out : errc::not_connected;
}

void session::wrote(const store::reply& answer)
{
    heard(answer);
    if (answer.result == store::outcome::ok && connected && !std::exchange(server_proved_, true))
        server_is_proved();
}

void session::server_is_proved()
{
    lost_creates.server_proved();
    if (handoffs)
        handoffs->writes->server_proved();
}

void session::plan_beat()
{
    if (beat_timer_ == 0 && connected)
        plan(beat_timer_, beat_due_ = std::max(scheduler.now(), lease_.next_heartbeat()), &session::beat);
}

/// Perhaps the connection is lost because the turn comes so late. If it comes in time, there was no heartbeat to delay.
void session::count_beat_not_sent(store::scheduler::time_point now) noexcept
{
    if (now - beat_due_ >= bearable_delay())
        counters_.heartbeat_delays.add(now - beat_due_);
}

/// A sync, because it goes through the leader.
void session::beat()
{
    const auto now = scheduler.now();
    if (!connected)
        return count_beat_not_sent(now);
    requests.proceed();
    if (now < lease_.next_heartbeat())
        return plan_beat();
    if (beating_)
        return; // its answer plans the next
    store.sync("/", [this](const store::reply& answer) {
        beating_ = false;
        const auto answered = scheduler.now();
        if (answer.result == store::outcome::ok)
            counters_.heartbeats.add(answered - answer.sent);
        lease_.heartbeat_answered(answer.sent, answered, chance_of(id_, answered));
        heard(answer);
        plan_beat();
    });
    beating_ = true;
    counters_.heartbeat_delays.add(now - beat_due_);
}

void session::granted(session_member& member)
{
    plan_lease_watch();
    look_at_later(member);
    if (holders_timer_ == 0)
        plan(holders_timer_, scheduler.now() + between_looks_at_holders, &session::look_for_long_holders);
}

void session::granted_by(std::int64_t czxid)
{
    if (czxid <= granted_zxid_)
        return;
    granted_zxid_ = czxid;
    granted_zxid_known_ = scheduler.now();
}

void session::look_at_later(session_member& member)
{
    if (member.among_holders_)
        return;
    holders_.push_back(&member);
    member.among_holders_ = true;
}

void session::plan_lease_watch()
{
    if (lease_timer_ == 0)
        plan(lease_timer_, lease_.ends(), &session::watch_lease);
}

void session::watch_lease()
{
    notice_lapse(scheduler.now());
    if (lease_fresh())
        plan_lease_watch();
}

void session::notice_lapse(store::scheduler::time_point now)
{
    if (!lease_.lapsed(now))
        return;
    lease_.end();
    tell_lapse();
}

void session::look_for_long_holders()
{
    const auto now = scheduler.now();
    const auto lately = std::exchange(holders_, {});
    for (session_member* member : lately)
        member->among_holders_ = false;
    for (session_member* member : lately)
        if (member->notice_long_holder(now))
            look_at_later(*member);
    if (!holders_.empty() && holders_timer_ == 0)
        plan(holders_timer_, now + between_looks_at_holders, &session::look_for_long_holders);
}

void session::later(lease_clock::duration delay, std::function<void()> f)
{
    // The timer stays with the scheduler: it may run after this object is gone.
    static_cast<void>(scheduler.call_at(scheduler.now() + delay, [alive = std::weak_ptr(alive_), f = std::move(f)] {
        if (const auto self = alive.lock())
            f();
    }));
}

void session::plan(store::scheduler::timer_id& timer, store::scheduler::time_point when,
                   void (session::*what)())
{
    const auto due = log.on(log_level::warning) ? std::max(when, scheduler.now()) : when;
    timer = scheduler.call_at(when, [this, &timer, what, due] {
        timer = 0;
        notice_slow_turn(due);
        (this->*what)();
    });
}

// --- catching up -----------------------------------------------------------------------------------------------------

void session::catch_up()
{
    if (!connected || catching_up_ != catch_up_state::not_asked)
        return;
    store.sync("/", [this](const store::reply& answer) {
        const bool done = answer.result == store::outcome::ok;
        catching_up_ = done ? catch_up_state::done : catch_up_state::not_asked; // who needs it asks again
        if (!done && answer.result != store::outcome::unknown)
            catching_up_refused(answer.result);
        heard(answer);
    });
    catching_up_ = catch_up_state::under_way;
}

void session::catching_up_refused(store::outcome why)
{
    refusal_to_catch_up_ = error_of(why);
    if (!std::exchange(refusal_logged_, true))
        log(log_level::error, "the servers refuse a sync, so what they answer may be older than what former holders of "
                              "a lock have written: reads of users fail until one is granted");
}

std::uint64_t session::catch_up_for_users()
{
    if (reconnected_)
        catch_up();
    return catch_up_with_handoffs();
}

std::uint64_t session::catch_up_with_handoffs()
{
    const std::uint64_t grants = handoffs ? handoffs->to_catch_up() : 0;
    if (grants == 0 || !connected || handoffs->catching_up())
        return grants;
    store.sync("/", [this, grants](const store::reply& answer) {
        const bool done = answer.result == store::outcome::ok;
        if (done)
            handoffs->caught_up(grants);
        else
            handoffs->did_not_catch_up();
        if (!done && answer.result != store::outcome::unknown)
            catching_up_refused(answer.result);
        heard(answer);
    });
    handoffs->catches_up();
    return grants;
}

bool session::behind_users(std::uint64_t grants) const noexcept
{
    const bool behind_epoch = reconnected_ && !caught_up();
    return behind_epoch || behind_handoffs(grants);
}

} // namespace zklock::recipes
