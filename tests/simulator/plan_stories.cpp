// Stories of a schedule that take several steps. All are drawn apart.
#include "planner.hpp"

namespace zklock::simulator {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using std::chrono::milliseconds;

/// A client goes to another server, and hears nothing while the next leader comes.
void planner::make_moves()
{
    choices own(plan_.seed ^ 0x30'7e5);
    const auto pick = [&own](std::uint64_t limit) { return own.below(limit, choices::stream::plan); };
    const auto long_time = static_cast<std::uint64_t>(microseconds(plan_.set.session_timeout).count());
    for (auto times = pick(4); times != 0; --times) {
        step s;
        const auto happens = [&](act what, std::uint64_t within, std::uint64_t duration) {
            s.at += microseconds(pick(within));
            s.what = what;
            s.duration = std::chrono::duration_cast<milliseconds>(microseconds(duration));
            plan_.steps.push_back(s);
        };
        s.at = moments_[pick(moments_.size())];
        s.who = static_cast<unsigned>(pick(plan_.set.clients));
        happens(act::cut, 100'000, 0);
        happens(act::block, long_time / 4, long_time / 2 + pick(long_time));
        s.who = static_cast<unsigned>(pick(plan_.set.servers));
        happens(act::restart, long_time / 4, pick(long_time / 4));
    }
}

/// An operator puts something that lasts in the place of a path that rests.
void planner::make_replacements()
{
    choices own(plan_.seed ^ 0x0'9e7a'707);
    const auto pick = [&own](std::uint64_t limit) { return own.below(limit, choices::stream::plan); };
    const auto long_time = static_cast<std::uint64_t>(microseconds(plan_.set.session_timeout).count());
    for (auto times = 1 + pick(6); times != 0; --times) {
        step s;
        s.at = moment_within(own, 2 * long_time);
        s.what = act::replace_idle_parent;
        s.path = static_cast<unsigned>(pick(plan_.set.paths));
        s.choice = static_cast<std::uint32_t>(pick(1'000'000));
        plan_.steps.push_back(s);
    }
}

/// Parents are made for an acquire that is withdrawn, on a connection that is cut: nobody else uses the path.
void planner::make_vain_parents()
{
    choices own(plan_.seed ^ 0x0'7a1'4);
    const auto pick = [&own](std::uint64_t limit) { return own.below(limit, choices::stream::plan); };
    auto& set = plan_.set;
    const auto round_trip = static_cast<std::uint64_t>((2 * set.delay + set.delay_spread).count());
    for (auto times = 1 + pick(3); times != 0; --times) {
        step s;
        s.at = moment_within(own, 500'000);
        s.path = set.paths++;
        s.who = static_cast<unsigned>(pick(set.clients));
        s.withdraw_after = microseconds(pick(6 * round_trip));
        plan_.steps.push_back(s);
        s.withdraw_after.reset();
        s.at += microseconds(pick(6 * round_trip));
        s.what = act::cut;
        plan_.steps.push_back(s);
    }
}

/// A leader and a client that holds a lock are cut off from the other servers, while another client waits. How long a
/// tick is, as a part of the session, decides how much such a leader's last answers may be worth.
void planner::make_partitions()
{
    choices own(plan_.seed ^ 0x9a'5717);
    const auto pick = [&own](std::uint64_t limit) { return own.below(limit, choices::stream::plan); };
    auto& set = plan_.set;
    set.tick = set.session_timeout * 20 / std::array{25, 30, 40, 40, 50, 60, 80, 100}[pick(8)];
    if (2 * set.tick > set.session_timeout) { // little time is left for an exchange
        set.delay = std::min(set.delay, 200us);
        set.delay_spread = std::min(set.delay_spread, 300us);
        set.follower_lag = std::min(set.follower_lag, 5'000us);
    }
    const auto kind = plan_.seed / 5 % 7;
    if (kind == 2 || kind == 4 || kind == 6) { // drift that shows in a session of this length
        set.stated_drift = 0.2;
        set.leader_drift_ppm = 240'000; // with the clients', just within that
        set.tick = set.session_timeout / 4;
    }
    const auto long_time = static_cast<std::uint64_t>(microseconds(set.session_timeout).count());
    for (auto times = 1 + pick(2); times != 0; --times) {
        step s;
        s.at = moments_[pick(moments_.size())];
        s.path = static_cast<unsigned>(pick(set.paths));
        s.choice = static_cast<std::uint32_t>(pick(1'000'000));
        const auto holder = static_cast<unsigned>(pick(set.clients));
        s.who = holder;
        s.duration = 3 * set.session_timeout;
        plan_.steps.push_back(s);
        s.at += microseconds(pick(long_time / 2));
        s.who = static_cast<unsigned>((s.who + 1 + pick(set.clients - 1)) % set.clients);
        s.duration = milliseconds(pick(50));
        plan_.steps.push_back(s);
        s.at += microseconds(pick(long_time));
        s.what = act::part_leader;
        s.duration = milliseconds(0);
        plan_.steps.push_back(s);
        // When that leader is silent at last, the client finds nobody else.
        const auto tick = static_cast<std::uint64_t>(microseconds(set.tick).count());
        s.at += set.tick - microseconds(pick(tick / (pick(2) == 0 ? 16 : 2)));
        s.what = act::block;
        s.who = holder;
        s.duration = set.session_timeout * 3 / 2;
        plan_.steps.push_back(s);
    }
}

/// A follower that is cut off from its leader goes on refusing what a client asks that holds a lock, until nothing
/// passes between those two either. Another client waits for the lock.
void planner::make_lone_refusals()
{
    choices own(plan_.seed ^ 0x1'0e4e'f5);
    const auto pick = [&own](std::uint64_t limit) { return own.below(limit, choices::stream::plan); };
    auto& set = plan_.set;
    set.eager_access_check = set.parents_exist = true;
    set.tick = set.session_timeout / 16;
    set.stated_margin = set.tick;
    set.patience = 30;
    set.delay = std::min(set.delay, 1'000us);
    set.delay_spread = std::min(set.delay_spread, 2'000us);
    const microseconds session = set.session_timeout;
    step s;
    s.at = moments_[pick(moments_.size())];
    s.path = static_cast<unsigned>(pick(set.paths));
    const unsigned refused = set.paths++;
    const auto holder = s.who = static_cast<unsigned>(pick(set.clients));
    s.duration = 3 * set.session_timeout;
    plan_.steps.push_back(s);
    s.at += session / 8;
    s.who = (holder + 1) % set.clients;
    s.duration = milliseconds(0);
    plan_.steps.push_back(s);
    s.path = refused;
    s.what = act::refuse;
    s.choice = 5; // to create; not to read
    s.duration = 2 * set.session_timeout;
    plan_.steps.push_back(s);
    s.at += session / 8 + microseconds(pick(static_cast<std::uint64_t>((session / 4).count())));
    s.what = act::cut_off;
    s.who = static_cast<unsigned>(pick(set.servers));
    plan_.steps.push_back(s);
    s.who = holder;
    for (int i = 0; i < 8; ++i) {
        s.at += session / 30;
        s.what = act::acquire;
        s.duration = milliseconds(0);
        plan_.steps.push_back(s);
    }
    s.at -= microseconds(pick(static_cast<std::uint64_t>((session / 4).count())));
    s.what = act::block;
    s.duration = set.session_timeout * 3 / 2;
    plan_.steps.push_back(s);
}

/// No server has a quorum, for some time-outs of sessions, which outlive that. And where the checkers know it: the
/// servers come back with what they had at some earlier time, or with next to nothing.
void planner::make_outages()
{
    choices own(plan_.seed ^ 0x0'07a'6e5);
    const auto pick = [&own](std::uint64_t limit) { return own.below(limit, choices::stream::plan); };
    auto& set = plan_.set;
    const auto long_time = static_cast<std::uint64_t>(set.session_timeout.count());
    step s;
    const auto happens = [&](act what, microseconds at, milliseconds duration) {
        s.what = what;
        s.at = at;
        s.duration = duration;
        plan_.steps.push_back(s);
    };
    const auto some_time = [&] {
        const auto moment = moments_[pick(moments_.size())];
        return moment + microseconds(1'000 * pick(long_time));
    };
    if (pick(2) == 0) {
        const auto then = some_time();
        const milliseconds duration(1 + pick(5 * long_time));
        happens(act::all_down, then, duration);
        set.one_goes_astray = true;
        choices apart(plan_.seed ^ 0x57'4a7);
        s.who = static_cast<unsigned>(apart.below(set.servers, choices::stream::plan));
        const auto within = static_cast<std::uint64_t>(duration.count());
        happens(act::go_astray, then + milliseconds(apart.below(within, choices::stream::plan)), milliseconds(0));
    }
    const bool loses_numbers = set.first_sequence != 0; // the log has nothing of those that were used up before
    if (loses_numbers)
        return;
    set.is_set_back = true;
    const auto then = some_time();
    happens(act::back_up, microseconds(pick(static_cast<std::uint64_t>(then.count()))), milliseconds(0));
    happens(act::set_back, then, set.session_timeout + set.tick + milliseconds(pick(2 * long_time)));
}

/// The servers come back with what they had at some earlier time, and with a leader who lets everybody in. Clients find
/// out by themselves what is missing, and what is back: all are connected when the backup is made, and have done
/// something before and after.
void planner::make_unnoticed_set_back()
{
    choices own(plan_.seed ^ 0x5e7'bac4);
    const auto pick = [&own](std::uint64_t limit) { return own.below(limit, choices::stream::plan); };
    auto& set = plan_.set;
    const bool loses_numbers = set.first_sequence != 0;
    if (loses_numbers)
        return;
    set.is_set_back = set.set_back_unnoticed = true;
    const auto long_time = static_cast<std::uint64_t>(set.session_timeout.count());
    step s;
    s.at = moments_[pick(moments_.size())];
    const auto some_acquires = [&](std::uint64_t most, std::uint64_t longest) {
        for (auto times = 1 + pick(most); times != 0; --times) {
            s.what = act::acquire;
            s.at += microseconds(pick(50'000));
            s.who = static_cast<unsigned>(pick(set.clients));
            s.path = static_cast<unsigned>(pick(set.paths));
            s.duration = milliseconds(pick(longest));
            plan_.steps.push_back(s);
        }
    };
    const auto happens = [&](act what, milliseconds duration) {
        s.what = what;
        s.at += microseconds(pick(100'000));
        s.duration = duration;
        plan_.steps.push_back(s);
    };
    some_acquires(4, 200);
    happens(act::back_up, milliseconds(0));
    some_acquires(6, pick(2) == 0 ? 100 : 3 * long_time);
    // Whoever holds something goes on until his lease ends.
    happens(act::set_back, set.session_timeout + set.tick + milliseconds(pick(pick(2) == 0 ? 50 : long_time)));
    s.at += s.duration;
    some_acquires(4, 50);
}

/// More at one moment than one transaction takes.
void planner::make_crowd(bool troubled)
{
    choices own(~plan_.seed);
    const auto pick = [&own](std::uint64_t limit) { return own.below(limit, choices::stream::plan); };
    auto& s = plan_.set;
    s.paths += static_cast<unsigned>(pick(3));
    if (pick(4) == 0)
        s.node_budget = 1'000 + pick(8'000);
    if (pick(8) == 0) {
        s.parents_exist = true;
        s.first_sequence = 2'146'999'960u;
    }
    const unsigned first = static_cast<unsigned>(pick(s.clients));
    const unsigned clients = static_cast<unsigned>(1 + pick(2));
    const auto at = moments_[pick(moments_.size())];
    const auto round_trip = static_cast<std::uint64_t>((2 * s.delay + s.delay_spread).count());
    const auto crowd = [&](unsigned many, microseconds from) {
        for (unsigned i = 0; i < many; ++i) {
            step a;
            a.at = from + microseconds(pick(4) == 0 ? pick(2 * round_trip) : 0);
            a.who = (first + i % clients) % s.clients;
            a.path = static_cast<unsigned>(pick(s.paths));
            a.duration = milliseconds(pick(2));
            if (pick(5) == 0)
                a.withdraw_after = microseconds(pick(4 * round_trip));
            if (pick(10) == 0)
                a.deadline = milliseconds(pick(100));
            if (pick(20) == 0)
                a.look_once = true;
            if (is_shared(kind_.which))
                a.choice = static_cast<std::uint32_t>(pick(1'000'000));
            plan_.steps.push_back(a);
        }
    };
    crowd(static_cast<unsigned>(66 + pick(70)), at);
    if (pick(2) == 0) {
        const microseconds later(pick(6 * round_trip));
        crowd(static_cast<unsigned>(8 + pick(40)), at + later);
    }
    if (!troubled)
        return;
    const auto happens = [&](act what, milliseconds duration) {
        step t;
        t.what = what;
        t.at = at + microseconds(pick(6 * round_trip));
        t.who = first;
        t.path = static_cast<unsigned>(pick(s.paths));
        t.choice = static_cast<std::uint32_t>(pick(1'000'000));
        t.duration = duration;
        plan_.steps.push_back(t);
    };
    const auto some = 1 + pick(4);
    switch (pick(6)) {
    case 0:
        for (std::uint64_t i = 0; i < 3 * some; ++i)
            happens(act::delete_contender, 0ms);
        break;
    case 1: happens(act::kill_session, 0ms); break;
    case 2:
        for (std::uint64_t i = 0; i < some; ++i)
            happens(act::cut, 0ms);
        break;
    case 3: happens(act::delete_parent, milliseconds(pick(50))); break;
    case 4:
        for (std::uint64_t i = 0; i < 2 * some; ++i)
            happens(act::foreign_contender, milliseconds(1 + pick(50)));
        break;
    default: happens(act::refuse, milliseconds(1 + pick(50))); break;
    }
}

} // namespace zklock::simulator
