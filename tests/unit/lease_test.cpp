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
    TEST_CASE("lasts from the sending of an answered request, less drift and margin")
    {
        lease l(0.01, {}, 0ms);
        CHECK_FALSE(l.fresh(at(1000s)));
        l.open(10s);
        CHECK_FALSE(l.fresh(at(1000s)));
        l.answered(at(1000s), at(1001s));
        CHECK(l.term()->until() == at(1000s + 9900ms - 2500ms));
        CHECK(l.fresh(at(1007s + 399ms)));
        CHECK_FALSE(l.fresh(at(1007s + 400ms)));
    }

    TEST_CASE("is extended within its term, and by nothing older")
    {
        lease l(0.0, 1s, 0ms);
        l.open(10s);
        l.answered(at(100s), at(100s));
        const auto term = l.term();
        l.answered(at(105s), at(106s));
        CHECK(term->until() == at(114s));
        l.answered(at(103s), at(106s));
        CHECK(term->until() == at(114s));
        CHECK(l.term() == term);
    }

    TEST_CASE("that has ended stays ended for who was granted in it")
    {
        lease l(0.0, 1s, 0ms);
        l.open(10s);
        l.answered(at(100s), at(100s));
        const auto term = l.term();
        l.answered(at(108s), at(109s)); // the answer came in the very moment of the end
        CHECK(l.fresh(at(109s)));
        CHECK(l.term() != term);
        CHECK(term->until() < at(109s));
        CHECK(l.term()->until() == at(117s));
    }

    TEST_CASE("ends earlier for the notice")
    {
        lease l(0.0, 1s, 2s);
        l.open(10s);
        l.answered(at(100s), at(100s));
        CHECK(l.term()->until() == at(109s));
        CHECK(l.ends() == at(107s));
        CHECK_FALSE(l.fresh(at(107s)));
    }

    TEST_CASE("ends with the session, and a new session starts from nothing")
    {
        lease l(0.0, 1s, 0ms);
        l.open(10s);
        l.answered(at(100s), at(100s));
        const auto term = l.term();
        l.end();
        CHECK(term->until() < at(100s));
        CHECK_FALSE(l.fresh(at(100s)));
        l.open(4s);
        CHECK_FALSE(l.fresh(at(100s)));
        l.answered(at(101s), at(101s));
        CHECK(l.term()->until() == at(104s));
        CHECK(l.heartbeat() == 1s);
    }

    TEST_CASE("can be impossible")
    {
        lease l(0.0, 10s, 0ms);
        l.open(10s);
        CHECK(l.length() <= l.notice());
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
