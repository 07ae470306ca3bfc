// Schedules of clients that have peers. All is drawn apart.
#include "planner.hpp"

namespace zklock::simulator {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using std::chrono::milliseconds;

void planner::make_peers()
{
    choices own(plan_.seed ^ 0x9ee'125);
    const auto pick = [&own](std::uint64_t limit) { return own.below(limit, choices::stream::plan); };
    auto& set = plan_.set;
    set.peers = kind_.peers;
    set.registers = true;
    set.peer_delay = microseconds(std::array{5, 20, 100, 2'000}[pick(4)]);
    if (pick(2) == 0)
        set.one_peer_fault_in = std::array{2u, 5u, 20u}[pick(3)];
    if (pick(8) == 0)
        set.peer_subscriptions = 1 + pick(2);
    if (pick(3) == 0)
        set.peerless = 1u << pick(set.clients);
    if (pick(3) != 0)
        make_haste(own);
    const auto at_some_time = [&](act what) {
        step s;
        s.at = moment_within(own, 600'000);
        s.what = what;
        s.who = static_cast<unsigned>(pick(set.clients));
        s.path = static_cast<unsigned>(pick(set.paths));
        s.choice = static_cast<std::uint32_t>(pick(1'000'000));
        s.duration = milliseconds(1 + pick(200));
        plan_.steps.push_back(s);
    };
    if (pick(3) == 0)
        at_some_time(act::part_peers);
    if (about(theme::administrator)) {
        for (auto times = pick(10); times != 0; --times)
            at_some_time(act::set_contender_data);
        if (pick(3) == 0)
            at_some_time(act::delete_contender);
    }
}

/// Many want one lock, and nobody has it for long: next to each release somebody waits, and hears of it from the holder
/// before the servers have answered anything. Meanwhile others write what holders read.
void planner::make_haste(choices& own)
{
    const auto pick = [&own](std::uint64_t limit) { return own.below(limit, choices::stream::plan); };
    auto& set = plan_.set;
    set.peer_delay = std::min(set.peer_delay, 100us);
    set.delay = microseconds(std::array{200, 1'000, 3'000, 8'000}[pick(4)]);
    set.delay_spread = microseconds(std::array{300, 2'000, 5'000}[pick(3)]);
    if (set.servers > 1 && pick(2) == 0)
        set.follower_lag = microseconds(std::array{2'000, 20'000, 60'000}[pick(3)]);
    const auto begin = moments_[pick(moments_.size())];
    const auto path = static_cast<unsigned>(pick(set.paths));
    const auto shortest = std::array{0, 1, 20}[pick(3)];
    for (auto acquires = 12 + pick(24); acquires != 0; --acquires) {
        step s;
        s.at = begin + microseconds(pick(600'000));
        s.path = path;
        s.who = static_cast<unsigned>(pick(set.clients));
        s.choice = static_cast<std::uint32_t>(pick(1'000'000));
        s.duration = milliseconds(shortest + static_cast<int>(pick(30)));
        if (pick(12) == 0)
            s.withdraw_after = microseconds(pick(400'000));
        if (pick(12) == 0)
            s.deadline = milliseconds(pick(400));
        plan_.steps.push_back(s);
    }
    const auto story = pick(6);
    if (story == 0)
        make_silences(own, begin);
    if (story == 1)
        make_numbers_again(own, begin, path);
    if (pick(3) == 0)
        return;
    for (auto writes = 10 + pick(60); writes != 0; --writes) {
        step s;
        s.at = begin + microseconds(pick(1'200'000));
        s.what = act::set_register;
        s.path = path;
        plan_.steps.push_back(s);
    }
}

/// Clients let go what they have while the servers hear nothing of them: their nodes stay, and others go past them.
void planner::make_silences(choices& own, microseconds begin)
{
    const auto pick = [&own](std::uint64_t limit) { return own.below(limit, choices::stream::plan); };
    auto& set = plan_.set;
    set.delay = std::min(set.delay, 200us);
    set.delay_spread = std::min(set.delay_spread, 300us);
    set.follower_lag = 0us;
    if (theme_ == theme::calm)
        set.one_peer_fault_in = 0;
    for (auto times = 1 + pick(3); times != 0; --times) {
        step s;
        s.at = begin + microseconds(pick(500'000));
        s.what = act::block;
        s.who = static_cast<unsigned>(pick(set.clients));
        s.duration = milliseconds(pick(static_cast<std::uint64_t>(set.shortest_session().count()) / 2));
        plan_.steps.push_back(s);
    }
}

/// The parent is made again, and numbers begin where they did: what strangers still tell is of others' nodes.
void planner::make_numbers_again(choices& own, microseconds begin, unsigned path)
{
    plan_.set.one_peer_fault_in = 2;
    for (auto times = 3 + own.below(8, choices::stream::plan); times != 0; --times) {
        step s;
        s.at = begin + microseconds(50'000 + own.below(600'000, choices::stream::plan));
        s.what = act::delete_parent;
        s.path = path;
        plan_.steps.push_back(s);
    }
}

} // namespace zklock::simulator
