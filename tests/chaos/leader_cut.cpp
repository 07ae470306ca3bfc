#include "chaos/leader_cut.hpp"

#include <algorithm>

namespace zklock::chaos {
namespace {

using time_point = test::steady_clock::time_point;
using std::chrono::duration_cast;
using std::chrono::nanoseconds;

constexpr milliseconds ping_to_cut{40}; // each of the loop's turns is late by up to a millisecond
constexpr const char* node = "/last-words";

/// How long after `now` it is until `wanted` plus some multiple of the period.
nanoseconds until_phase(time_point wanted, time_point now, nanoseconds period)
{
    const auto over = (wanted - now) % period;
    return over < nanoseconds::zero() ? over + period : over;
}

} // namespace

leader_cut::leader_cut(test::network& net, test::zookeeper_ensemble& ensemble, milliseconds tick,
                       std::int64_t sync_limit, random_source& random)
    : net_(net), ensemble_(ensemble), tick_(tick), silence_(sync_limit * tick), random_(random)
{
}

leader_cut::time_point leader_cut::next_ping()
{
    const auto before = net_.last_passed(leader_, follower());
    test::wait_until("the leader pings its follower", test::default_limit,
                     [&] { return net_.last_passed(leader_, follower()) != before; });
    return net_.last_passed(leader_, follower());
}

/// All time-outs are whole ticks: only the time of the election decides where in a tick another takes over.
leader_cut::time_point leader_cut::next_cut(time_point after) const
{
    return after + until_phase(time_point() - election_, after, tick_);
}

void leader_cut::prepare(std::size_t leader)
{
    leader_ = leader;
    const nanoseconds turn = tick_ / 2;
    const auto ping = next_ping();
    ensemble_[leader].pause();
    // The turn of the loop that has begun ends when the pause does. Half a tick more or not, so that either kind of
    // turn comes up.
    const auto wanted = next_cut(ping) - ping_to_cut;
    const bool one_more = std::uniform_int_distribution<>(0, 1)(random_) != 0;
    std::this_thread::sleep_until(ping + turn + until_phase(wanted, ping, turn) +
                                  (one_more ? turn : nanoseconds::zero()));
    ensemble_[leader].resume();
    ensemble_.wait_all();
}

void leader_cut::cut()
{
    // The writer talks to a member that goes on. Its answer shows that the followers have heard of the write, and that
    // the leader waits for nothing that keeps it from answering.
    test::admin_client writer(ensemble_[other()].port());
    writer.create_all(node);
    writer_ = writer.session();
    std::this_thread::sleep_until(next_cut(test::steady_clock::now() + ping_to_cut) - milliseconds(2));
    writer.set(node, {});
    for (std::size_t i = 0; i < ensemble_.size(); ++i)
        if (i != leader_)
            net_.cut(leader_, i);
    cut_at_ = now();
    writer.abandon();
}

bool leader_cut::learn(instant granted, milliseconds timeout)
{
    test::close_session(ensemble_[other()].port(), *writer_);
    const auto after_take_over =
        duration_cast<milliseconds>(nanoseconds(granted - cut_at_)) - silence_ - election_ - timeout;
    const bool early = after_take_over < tick_ / 2;
    election_ = std::max(election_ + (early ? milliseconds(-10) : milliseconds(40)), milliseconds(200));
    return early;
}

} // namespace zklock::chaos
