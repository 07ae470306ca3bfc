#include "recipes/lease/lease.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <utility>

using namespace std::chrono_literals;
using zklock::lease_clock;
using zklock::recipes::lease;
using zklock::recipes::lease_times;

namespace {

constexpr lease_clock::time_point at(std::chrono::milliseconds t)
{
    return lease_clock::time_point(t);
}

lease_times with(double drift, std::optional<lease::duration> margin, lease::duration notice)
{
    return {drift, 2s, margin, notice, {}};
}

lease_times of_ticks(double ticks, lease::duration tick = 2s)
{
    return {0.01, tick, {}, 0s, std::chrono::duration_cast<lease::duration>(ticks * tick)};
}

/// Of a session whose time-out is known.
struct open_lease : lease {
    open_lease(const lease_times& times, duration timeout) : lease(times) { open(timeout); }
};

/// A client that does nothing but send heartbeats over a connection on which each takes `round_trip`.
/// How much is left of the lease at worst, from the connect on, in `length`.
lease::duration least_left(const lease_times& times, lease::duration round_trip, lease::duration length)
{
    std::minstd_rand random; // of one seed
    std::uniform_real_distribution<double> chance(0.0, 1.0);
    open_lease l(times, times.timeout);
    auto now = at(1000s);
    const auto end = now + length;
    l.opened(now, now + round_trip);
    const auto span = l.span();
    lease::duration least = length;
    for (now += round_trip; now < end;) {
        const auto sent = std::max(now, l.next_heartbeat());
        now = sent + round_trip;
        least = std::min(least, l.ends() - now);
        l.answered(sent, now);
        l.heartbeat_answered(sent, now, chance(random));
    }
    CHECK((least < 0s || l.span() == span));
    return least;
}

} // namespace

// --- lease -----------------------------------------------------------------------------------------------------------

TEST_CASE("lasts from the connect, less drift and margin")
{
    lease l(with(0.01, {}, 0ms));
    CHECK_FALSE(l.fresh(at(1000s)));
    l.open(10s);
    CHECK_FALSE(l.fresh(at(1000s)));
    l.opened(at(1000s), at(1001s));
    CHECK(l.span()->until() == at(1000s + 9900ms - 2125ms));
    CHECK(l.fresh(at(1007s + 774ms)));
    CHECK_FALSE(l.fresh(at(1007s + 775ms)));
    CHECK(l.next_heartbeat() < at(1001s));
    l.answered(at(1001s), at(1001s + 1ms));
    l.heartbeat_answered(at(1001s), at(1001s + 1ms), 0.0);
    CHECK(l.next_heartbeat() == at(1003s + 501ms));
    l.answered(at(1003s + 501ms), at(1003s + 502ms));
    CHECK(l.span()->until() == at(1001s + 9900ms));
}

TEST_CASE("an answer confirms what was sent a margin before it, not itself")
{
    open_lease l(with(0.0, 2s, 0ms), 10s);
    l.confirmed(at(100s), at(100s));
    const auto span = l.span();
    l.answered(at(102s), at(102s));
    CHECK(span->until() == at(110s));
    l.answered(at(103s), at(103s));
    CHECK(span->until() == at(110s));
    l.answered(at(104s), at(104s)); // the leader has counted 102
    CHECK(span->until() == at(112s));
    l.answered(at(106s), at(106s)); // and 104
    CHECK(span->until() == at(114s));
    CHECK(l.span() == span);
}

TEST_CASE("a request that was long on its way is a late sign of life")
{
    open_lease l(with(0.0, 2s, 0ms), 10s);
    l.answered(at(100s), at(105s)); // the server may have seen it at 105 only
    l.answered(at(104s), at(106s));
    l.answered(at(106s), at(106s));
    CHECK_FALSE(l.fresh(at(106s)));
    l.answered(at(107s), at(107s)); // 105 is a margin ago
    CHECK(l.span()->until() == at(110s));
}

TEST_CASE("remembers a bounded number of a flood of answers, and loses little by it")
{
    open_lease l(with(0.0, 1600ms, 0ms), 10s);
    for (auto t = 100'000ms; t <= 104'000ms; t += 1ms)
        l.answered(at(t), at(t));
    CHECK(l.span()->until() <= at(112'400ms));
    CHECK(l.span()->until() > at(112'200ms));
}

TEST_CASE("with no margin counts from the answered request itself")
{
    open_lease l(with(0.0, 0s, 0ms), 10s);
    l.answered(at(100s), at(101s));
    CHECK(l.span()->until() == at(110s));
}

TEST_CASE("that has ended stays ended for who was granted in it")
{
    open_lease l(with(0.0, 1s, 0ms), 10s);
    l.confirmed(at(100s), at(100s));
    const auto span = l.span();
    l.confirmed(at(109s), at(110s)); // the answer came in the very moment of the end
    CHECK(l.fresh(at(110s)));
    CHECK(l.span() != span);
    CHECK(span->until() < at(110s));
    CHECK(l.span()->until() == at(119s));
}

TEST_CASE("ends earlier for the notice")
{
    open_lease l(with(0.0, 1s, 2s), 10s);
    l.confirmed(at(100s), at(100s));
    CHECK(l.span()->until() == at(110s));
    CHECK(l.ends() == at(108s));
    CHECK_FALSE(l.fresh(at(108s)));
}

TEST_CASE("ends with the session, and a new session starts from nothing")
{
    open_lease l(with(0.0, 850ms, 0ms), 10s);
    l.confirmed(at(100s), at(100s));
    l.answered(at(101s), at(101s));
    const auto span = l.span();
    l.end();
    CHECK(span->until() < at(100s));
    CHECK_FALSE(l.fresh(at(101s)));
    l.open(4s);
    l.answered(at(103s), at(103s)); // confirms nothing of the new one
    CHECK_FALSE(l.fresh(at(103s)));
    l.answered(at(104s), at(104s));
    CHECK(l.span()->until() == at(107s));
    l.heartbeat_answered(at(104s), at(104s), 0.0);
    l.answered(at(104s + 100ms), at(104s + 200ms)); // what else is answered puts it off by nothing
    CHECK(l.next_heartbeat() == at(105s));
}

TEST_CASE("its margin is 21 % of the time-out, and at least the servers' tick")
{
    CHECK(of_ticks(1.5).margin() == 2s);
    CHECK(of_ticks(2).margin() == 2s);
    CHECK(of_ticks(3).margin() == 2s);
    CHECK(of_ticks(4).margin() == 2s);
    CHECK(of_ticks(5).margin() == 2125ms);
    CHECK(of_ticks(5, 400ms).margin() == 425ms);
    lease_times stated = of_ticks(2);
    stated.stated_margin = 500ms;
    CHECK(stated.margin() == 500ms);
}

TEST_CASE("an answer of a leader that was given up confirms nothing")
{
    // The quorum gave it up at `end`. It went on for a tick; the next session's end comes `timeout` after `end`.
    std::minstd_rand random; // of one seed
    std::uniform_real_distribution<double> chance(0.0, 1.0);
    for (const double ticks : {1.2, 1.5, 2.0, 3.0, 4.5, 5.0}) {
        CAPTURE(ticks);
        const auto times = of_ticks(ticks);
        for (const auto phase : {0ms, 1ms, 100ms, 333ms, 777ms}) {
            open_lease l(times, times.timeout);
            const auto end = at(1100s);
            auto now = at(1000s) + phase;
            l.opened(now, now);
            for (;;) {
                const auto sent = l.next_heartbeat();
                if (sent > end + times.tick)
                    break;
                now = std::max(now, sent);
                l.answered(now, now);
                l.heartbeat_answered(sent, now, chance(random));
            }
            CHECK(l.span()->until() <= end + times.timeout);
        }
    }
}

TEST_CASE("as many heartbeats as fit, and no lease of a healthy connection ends")
{
    CHECK(of_ticks(5).interval() == 2500ms); // as ever
    CHECK(of_ticks(15).interval() == 7500ms);
    for (const double ticks : {1.2, 1.25, 1.5, 2.0, 2.5, 3.0, 3.9, 4.0, 5.0, 60.0}) {
        CAPTURE(ticks);
        const auto times = of_ticks(ticks);
        CHECK(times.possible());
        CHECK(times.interval() >= 50ms);
        CHECK(times.interval() <= (ticks == 4.0 ? 2353ms : times.timeout / 4));
        CHECK(times.remainder() >= times.rest() / 2);
        CHECK(least_left(times, 0s, 20 * times.timeout) >= times.rest() / 2);
        // Round trips take what they take, but do not add up.
        for (const auto round_trip : {1ms, 10ms, 20ms})
            CHECK(least_left(times, round_trip, 20 * times.timeout) >= times.rest() / 2 - 4 * round_trip);
    }
    const lease_times stated{0.01, 500ms, 5s, 0s, 8s}; // lost seven locks in 20 s
    CHECK(stated.possible());
    CHECK(stated.interval() == 1030927836ns);
    CHECK(least_left(stated, 5ms, 60s) > 1400ms);
    const lease_times noticed{0.01, 2s, {}, 4s, 10s};
    CHECK(noticed.possible());
    CHECK(least_left(noticed, 5ms, 60s) > 1500ms);
    const lease_times without{0.01, 500ms, 0s, 0s, 8s};
    CHECK(without.interval() == 2s);
    CHECK(least_left(without, 5ms, 60s) > 3900ms);
}

TEST_CASE("a heartbeat comes up to 15 % of the interval early; several in a margin, so much together")
{
    struct expected {
        lease_times times;
        std::int64_t in_a_margin;
        lease::duration interval, earliest, remainder;
    };
    const auto stating = [](lease::duration margin) {
        lease_times times = of_ticks(5);
        times.stated_margin = margin;
        return times;
    };
    for (const auto& [times, in_a_margin, interval, earliest, remainder] : {
             expected{of_ticks(1.2), 13, 155642024ns, 153846154ns, 197011664ns},
             {of_ticks(1.5), 5, 412371135ns, 400ms, 495773190ns},
             {of_ticks(2), 3, 701754386ns, 666666667ns, 1152982456ns},
             {of_ticks(3), 2, 1081081082ns, 1s, 2696756754ns},
             {of_ticks(3.5), 2, 1081081082ns, 1s, 3686756754ns},
             {of_ticks(3.9), 2, 1081081082ns, 1s, 4478756754ns},
             {of_ticks(4), 1, 2352941177ns, 2s, 3214117646ns},
             {of_ticks(4.4), 1, 2352941177ns, 2s, 4006117646ns},
             {of_ticks(5), 1, 2500ms, 2125ms, 4900ms},
             {of_ticks(15), 1, 7500ms, 6375ms, 14700ms},
             {stating(0s), 1, 2500ms, 2125ms, 4900ms},
             {stating(2500ms), 1, 2941176471ns, 2500ms, 4017647058ns},
             {stating(2600ms), 2, 1405405406ns, 1300ms, 5683783782ns},
         }) {
        CAPTURE(times.timeout.count());
        CAPTURE(times.margin().count());
        CHECK(times.in_a_margin() == in_a_margin);
        CHECK(times.interval() == interval);
        CHECK(times.interval() - times.earliness() == earliest);
        CHECK(times.remainder() == remainder);
        const auto next_after = [&](double chance) {
            open_lease l(times, times.timeout);
            l.opened(at(1000s), at(1000s));
            l.answered(at(1000s), at(1000s));
            l.heartbeat_answered(at(1000s), at(1000s), chance);
            return l.next_heartbeat() - at(1000s);
        };
        CHECK(next_after(0.0) == interval);
        CHECK(next_after(1.0) == earliest);
        CHECK(next_after(0.5) > earliest);
        CHECK(next_after(0.5) < interval);
    }
}

TEST_CASE("each heartbeat confirms the one a margin before it, and as much is left when one falls due")
{
    std::minstd_rand random; // of one seed
    std::uniform_real_distribution<double> by_chance(0.0, 1.0);
    for (const double ticks : {1.07, 1.2, 1.5, 2.0, 3.0, 3.5, 4.0, 4.4, 5.0, 15.0}) {
        CAPTURE(ticks);
        const auto times = of_ticks(ticks);
        const auto n = static_cast<std::size_t>(times.in_a_margin());
        for (const double always : {0.0, 0.3, 1.0, -1.0}) {
            CAPTURE(always);
            open_lease l(times, times.timeout);
            l.opened(at(1000s), at(1000s));
            std::vector<lease::time_point> sent;
            for (auto now = at(1000s); now < at(1000s) + 40 * times.timeout;) {
                sent.push_back(std::max(now, l.next_heartbeat()));
                const bool first = sent.size() <= n + 1;
                if (!first)
                    REQUIRE(l.ends() - sent.back() >= times.remainder() - 2 * 3ms);
                now = sent.back() + 3ms;
                l.answered(sent.back(), now);
                l.heartbeat_answered(sent.back(), now, always < 0.0 ? by_chance(random) : always);
                if (sent.size() > n)
                    REQUIRE(l.ends() >= sent[sent.size() - 1 - n] + times.sure());
            }
        }
    }
}

TEST_CASE("heartbeats of clients that began at one moment spread, however long their session is")
{
    constexpr int clients = 100;
    for (const double ticks : {1.2, 1.5, 2.0, 3.0, 3.5, 4.0, 4.4, 5.0, 15.0}) {
        CAPTURE(ticks);
        const auto times = of_ticks(ticks);
        const auto tenth = times.interval() / 10;
        const auto looked_at = at(1000s) + 100 * std::max(times.margin(), times.interval());
        std::minstd_rand random; // of one seed
        std::uniform_real_distribution<double> chance(0.0, 1.0);
        std::vector<int> at_first(10), at_last(10);
        for (int client = 0; client < clients; ++client) {
            open_lease l(times, times.timeout);
            l.opened(at(1000s), at(1000s));
            for (auto now = at(1000s); now < looked_at + times.interval();) {
                const auto sent = std::max(now, l.next_heartbeat());
                const auto note = [&](std::vector<int>& tenths, lease::time_point from) {
                    if (sent >= from && sent < from + times.interval())
                        ++tenths.at(static_cast<std::size_t>((sent - from) / tenth));
                };
                note(at_first, at(1000s));
                note(at_last, looked_at);
                now = sent + 30ms;
                l.answered(sent, now);
                l.heartbeat_answered(sent, now, chance(random));
            }
        }
        CHECK(*std::max_element(at_first.begin(), at_first.end()) >= clients);
        CHECK(*std::max_element(at_last.begin(), at_last.end()) <= clients / 4);
    }
}

TEST_CASE("where several come in a margin, one waits a little for what counts then, and comes no sooner for it")
{
    const auto times = of_ticks(3);
    const auto third_after = [&](lease::duration first_took, std::optional<lease::duration> other) {
        open_lease l(times, times.timeout);
        l.opened(at(1000s), at(1000s));
        l.answered(at(1000s), at(1000s) + first_took);
        if (other)
            l.answered(at(1000s) + *other, at(1000s) + *other);
        l.heartbeat_answered(at(1000s), at(1000s) + first_took, 1.0);
        l.answered(at(1001s), at(1001s));
        l.heartbeat_answered(at(1001s), at(1001s), 1.0);
        return l.next_heartbeat() - at(1000s);
    };
    CHECK(third_after(0ms, {}) == 2000ms);
    CHECK(third_after(30ms, {}) == 2030ms);
    CHECK(third_after(500ms, {}) == 2500ms);
    CHECK(third_after(600ms, {}) == 2000ms); // too long: it would be late
    CHECK(third_after(0ms, 200ms) == 2000ms);
    // With another chance it comes later, though what counts at 1002 comes round again and again.
    open_lease l(times, times.timeout);
    l.opened(at(1000s), at(1000s));
    auto sent = at(1000s);
    for (int margins = 1; margins <= 20; ++margins) {
        for (int beats = 0; beats < 2; ++beats) {
            l.answered(sent, sent);
            l.heartbeat_answered(sent, sent, 0.5);
            sent = l.next_heartbeat();
        }
        CHECK(sent > at(1000s) + margins * 2080ms);
    }
}

TEST_CASE("the earliest heartbeat of all confirms the one before")
{
    open_lease l(of_ticks(5), 10s);
    auto sent = at(1000s);
    l.answered(sent, sent + 3ms);
    for (int beat = 0; beat < 20; ++beat) {
        l.heartbeat_answered(sent, sent + 3ms, beat % 3 == 0 ? 0.3 : 1.0);
        const auto before = std::exchange(sent, l.next_heartbeat());
        l.answered(sent, sent + 3ms);
        CHECK(l.span()->until() == before + 9900ms);
    }
}

TEST_CASE("that would end before it can be renewed grants nothing, and is renewed as soon as it can be")
{
    // A heartbeat each 2.5 s until 1010; the next is answered when the outage is over.
    for (const auto outage : {2500ms, 5s + 0ms, 7s + 0ms, 7500ms, 8500ms, 9500ms, 15s + 0ms}) {
        CAPTURE(outage.count());
        open_lease l(of_ticks(5), 10s);
        l.opened(at(1000s), at(1000s));
        const auto beat_at = [&](auto sent, auto answered) {
            l.answered(sent, answered);
            l.heartbeat_answered(sent, answered, 0.0);
        };
        for (auto t = at(1000s); t <= at(1010s); t += 2500ms)
            beat_at(t, t);
        CHECK(l.ends() == at(1007s + 9500ms + 400ms + 500ms)); // what was sent at 1007.5 counts
        CHECK(l.renewable(at(1010s)));

        const auto back = at(1010s) + outage;
        beat_at(at(1012s + 500ms), back);
        const bool enough = outage <= 7s; // until 1019.9, and the next is worth something at `back` and 2.125 s
        CHECK(l.fresh(back) == (outage < 9900ms));
        CHECK(l.renewable(back) == enough);
        if (outage > 7500ms) { // what was sent at 1012.5 is of no use: another at once
            REQUIRE(l.next_heartbeat() <= back);
            beat_at(back, back + 1ms);
            CHECK(l.next_heartbeat() == back + 1ms + 2125ms);
            l.answered(back + 500ms, back + 501ms); // other requests do not put it off
            CHECK_FALSE(l.renewable(back + 501ms));
        }
        const auto next = l.next_heartbeat();
        CHECK(next < (enough ? l.ends() : back + 3s));
        beat_at(next, next + 1ms);
        CHECK(l.renewable(next + 1ms));
        CHECK(l.ends() >= back + (outage > 7500ms ? 9900ms : 9900ms - outage));
    }
}

TEST_CASE("hurries by less where syncs are refused, or end without an answer")
{
    open_lease l(of_ticks(5), 10s);
    l.answered(at(1000s), at(1008s)); // late, and the last that came through the leader
    l.heartbeat_answered(at(1000s), at(1008s), 0.0);
    CHECK(l.next_heartbeat() <= at(1008s));
    l.heartbeat_answered(at(1008s), at(1008s + 1ms), 0.0);
    CHECK(l.next_heartbeat() == at(1008s + 1ms + 2125ms));
    // The session is taken up, and that counts a margin later, whatever else is asked meanwhile.
    l.answered(at(1008s + 200ms), at(1008s + 201ms));
    l.answered(at(1009s), at(1009s + 1ms));
    CHECK(l.next_heartbeat() == at(1008s + 201ms + 2125ms));
    l.heartbeat_answered(at(1010s + 326ms), at(1010s + 327ms), 0.0);
    CHECK(l.next_heartbeat() == at(1010s + 327ms + 625ms));
}

TEST_CASE("that cannot last is not asked for more often: the servers may grant less than what was asked for")
{
    for (const lease_times& times : {lease_times{0.01, 2s, 0s, 5s, 4s}, lease_times{0.01, 2s, 1ms, 20s, 10s},
                                     of_ticks(1), of_ticks(1.02), lease_times{0.01, 2s, {}, 2s, 4s}}) {
        CAPTURE(times.timeout.count());
        REQUIRE_FALSE(times.possible());
        open_lease l(times, times.timeout);
        auto now = at(1000s);
        l.opened(now, now);
        int beats = 0;
        for (const auto end = now + 20 * times.timeout; now < end; ++beats) {
            const auto sent = std::max(now, l.next_heartbeat());
            now = sent + 200us;
            l.answered(sent, now);
            l.heartbeat_answered(sent, now, 0.0);
        }
        CHECK(beats <= 100); // four in a time-out, and some more
    }
}

TEST_CASE("can be renewed at any time of a healthy connection")
{
    for (const double ticks : {1.2, 1.25, 1.5, 2.0, 2.5, 3.0, 3.9, 4.0, 5.0, 60.0}) {
        CAPTURE(ticks);
        const auto times = of_ticks(ticks);
        open_lease l(times, times.timeout);
        l.opened(at(1000s), at(1000s + 10ms));
        for (auto now = at(1000s + 10ms); now < at(1000s) + 20 * times.timeout;) {
            const auto sent = std::max(now, l.next_heartbeat());
            for (; now <= sent; now += 10ms)
                CHECK(l.renewable(now));
            now = sent + 10ms;
            l.answered(sent, now);
            l.heartbeat_answered(sent, now, 0.5);
        }
    }
}

TEST_CASE("needs the time-out that the option's comment states")
{
    const auto possible = [](double drift, lease::duration tick, lease::duration notice, lease::duration timeout) {
        return lease_times{drift, tick, {}, notice, timeout}.possible();
    };
    CHECK(possible(0.01, 2s, 0s, 2122ms));
    CHECK_FALSE(possible(0.01, 2s, 0s, 2121ms));
    CHECK(possible(0.01, 500ms, 0s, 607ms));
    CHECK_FALSE(possible(0.01, 500ms, 0s, 606ms));
    CHECK(possible(0.01, 200ms, 0s, 271ms)); // a quarter of it is for heartbeats
    CHECK_FALSE(possible(0.01, 200ms, 0s, 270ms));
    CHECK(possible(0.01, 10s, 0s, 10431ms)); // a 32nd of it
    CHECK_FALSE(possible(0.01, 10s, 0s, 10430ms));
    CHECK(possible(0.1, 2s, 1s, 3454ms)); // likewise
    CHECK_FALSE(possible(0.1, 2s, 1s, 3453ms));
}

TEST_CASE("can be impossible")
{
    CHECK_FALSE(lease_times{0.0, 2s, 10s, 0s, 10s}.possible());
    CHECK_FALSE(lease_times{0.01, 2s, 9800ms, 0s, 10s}.possible());
    CHECK(lease_times{0.01, 2s, 9s, 0s, 10s}.possible());
    CHECK_FALSE(lease_times{0.01, 2s, 2s, 7800ms, 10s}.possible());
    CHECK(lease_times{0.01, 2s, 2s, 7s, 10s}.possible());
    CHECK_FALSE(of_ticks(1).possible());
    CHECK_FALSE(of_ticks(1.04).possible());
    CHECK_FALSE(lease_times{0.01, 2s, {}, 0s, 1s}.possible());       // granted by servers with shorter ticks
    CHECK_FALSE(lease_times{0.01, 300ms, {}, 0s, 400ms}.possible()); // 48 and 10 ms between heartbeats:
    CHECK_FALSE(lease_times{0.01, 79ms, {}, 0s, 100ms}.possible());  // a loaded server takes as long for an answer
    CHECK(lease_times{0.01, 50ms, {}, 0s, 100ms}.possible());
    CHECK(of_ticks(5).remainder() == 4900ms);
}
