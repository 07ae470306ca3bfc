#include "recipes/lease.hpp"
#include "recipes/node_budget.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using zklock::lease_clock;
using zklock::recipes::lease;
using zklock::recipes::node_budget;

namespace {

constexpr lease_clock::time_point at(std::chrono::milliseconds t)
{
    return lease_clock::time_point(t);
}

} // namespace

TEST_SUITE("lease")
{
    TEST_CASE("lasts from the connect, less drift and margin")
    {
        lease l(0.01, {}, 0ms);
        CHECK_FALSE(l.fresh(at(1000s)));
        l.open(10s);
        CHECK_FALSE(l.fresh(at(1000s)));
        l.opened(at(1000s), at(1001s));
        CHECK(l.term()->until() == at(1000s + 9900ms - 2500ms));
        CHECK(l.fresh(at(1007s + 399ms)));
        CHECK_FALSE(l.fresh(at(1007s + 400ms)));
        CHECK(l.next_heartbeat() < at(1001s));
        l.answered(at(1001s), at(1001s + 1ms));
        l.heartbeat_answered(at(1001s + 1ms));
        CHECK(l.next_heartbeat() == at(1003s + 501ms));
        l.answered(at(1003s + 501ms), at(1003s + 502ms));
        CHECK(l.term()->until() == at(1001s + 9900ms));
    }

    TEST_CASE("an answer confirms what was sent a margin before it, not itself")
    {
        lease l(0.0, 2s, 0ms);
        l.open(10s);
        l.confirmed(at(100s), at(100s));
        const auto term = l.term();
        l.answered(at(102s), at(102s));
        CHECK(term->until() == at(110s));
        l.answered(at(103s), at(103s));
        CHECK(term->until() == at(110s));
        l.answered(at(104s), at(104s)); // the leader has counted 102
        CHECK(term->until() == at(112s));
        l.answered(at(106s), at(106s)); // and 104
        CHECK(term->until() == at(114s));
        CHECK(l.term() == term);
    }

    TEST_CASE("a request that was long on its way is a late sign of life")
    {
        lease l(0.0, 2s, 0ms);
        l.open(10s);
        l.answered(at(100s), at(105s)); // the server may have seen it at 105 only
        l.answered(at(104s), at(106s));
        l.answered(at(106s), at(106s));
        CHECK_FALSE(l.fresh(at(106s)));
        l.answered(at(107s), at(107s)); // 105 is a margin ago
        CHECK(l.term()->until() == at(110s));
    }

    TEST_CASE("remembers a bounded number of a flood of answers, and loses little by it")
    {
        lease l(0.0, 1600ms, 0ms);
        l.open(10s);
        for (auto t = 100'000ms; t <= 104'000ms; t += 1ms)
            l.answered(at(t), at(t));
        CHECK(l.term()->until() <= at(112'400ms));
        CHECK(l.term()->until() > at(112'200ms));
    }

    TEST_CASE("with no margin counts from the answered request itself")
    {
        lease l(0.0, 0s, 0ms);
        l.open(10s);
        l.answered(at(100s), at(101s));
        CHECK(l.term()->until() == at(110s));
    }

    TEST_CASE("that has ended stays ended for who was granted in it")
    {
        lease l(0.0, 1s, 0ms);
        l.open(10s);
        l.confirmed(at(100s), at(100s));
        const auto term = l.term();
        l.confirmed(at(109s), at(110s)); // the answer came in the very moment of the end
        CHECK(l.fresh(at(110s)));
        CHECK(l.term() != term);
        CHECK(term->until() < at(110s));
        CHECK(l.term()->until() == at(119s));
    }

    TEST_CASE("ends earlier for the notice")
    {
        lease l(0.0, 1s, 2s);
        l.open(10s);
        l.confirmed(at(100s), at(100s));
        CHECK(l.term()->until() == at(110s));
        CHECK(l.ends() == at(108s));
        CHECK_FALSE(l.fresh(at(108s)));
    }

    TEST_CASE("ends with the session, and a new session starts from nothing")
    {
        lease l(0.0, 1s, 0ms);
        l.open(10s);
        l.confirmed(at(100s), at(100s));
        l.answered(at(101s), at(101s));
        const auto term = l.term();
        l.end();
        CHECK(term->until() < at(100s));
        CHECK_FALSE(l.fresh(at(101s)));
        l.open(4s);
        l.answered(at(103s), at(103s)); // confirms nothing of the new one
        CHECK_FALSE(l.fresh(at(103s)));
        l.answered(at(104s), at(104s));
        CHECK(l.term()->until() == at(107s));
        l.heartbeat_answered(at(104s));
        l.answered(at(104s + 100ms), at(104s + 200ms)); // what else is answered puts it off by nothing
        CHECK(l.next_heartbeat() == at(105s));
    }

    TEST_CASE("can be impossible")
    {
        CHECK(lease(0.0, 10s, 0ms).remainder() <= 0s);
        lease l(0.01, {}, 0ms);
        l.open(10s);
        CHECK(l.remainder() == 4900ms);
    }
}

TEST_SUITE("node budget")
{
    TEST_CASE("keeps room for the first contender of each path")
    {
        node_budget budget(100, 150);
        CHECK(budget.reserve(60, false) == node_budget::verdict::granted);
        CHECK(budget.reserve(60, false) == node_budget::verdict::wait);
        CHECK(budget.reserve(60, true) == node_budget::verdict::granted);
        CHECK(budget.reserve(60, true) == node_budget::verdict::exhausted);
        CHECK(budget.used() == 120);
        budget.release(60);
        CHECK(budget.reserve(40, false) == node_budget::verdict::granted);
    }
}
