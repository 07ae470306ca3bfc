// How far an acquire has come, and what others may ask of it meanwhile.
#include "recipes/acquisition/grant_state.hpp"

#include <doctest/doctest.h>

#include <thread>

using namespace std::chrono_literals;
using namespace zklock;
using recipes::grant_state;

namespace {

constexpr lease_clock::time_point moment(std::chrono::milliseconds t)
{
    return lease_clock::time_point(t);
}

/// For a session that began at 1000 s.
recipes::lease new_lease()
{
    recipes::lease l({0.01, 2s, {}, 0s, {}});
    l.open(10s);
    l.opened(moment(1000s), moment(1000s));
    return l;
}

} // namespace

TEST_CASE("waits, holds, is done")
{
    const recipes::lease l = new_lease();
    grant_state s;
    CHECK(s.waiting());
    CHECK_FALSE(s.held(moment(1000s)));
    CHECK_FALSE(s.loss(moment(1000s)));
    s.grant({l.span(), 0s, moment(1000s)});
    CHECK(s.holding());
    CHECK(s.held(moment(1000s)));
    CHECK_FALSE(s.loss(moment(1000s)));
    CHECK(s.held_until() == l.ends());
    s.end();
    CHECK(s.done());
    CHECK_FALSE(s.held(moment(1000s)));
    CHECK_FALSE(s.loss(l.ends()));
}

TEST_CASE("a lease that has ended is a loss that nobody has noticed; one that was noticed is told as it was")
{
    const recipes::lease l = new_lease();
    grant_state s;
    s.grant({l.span(), 0s, moment(1000s)});
    REQUIRE(s.loss(l.ends()));
    CHECK(s.loss(l.ends())->reason == loss_reason::lease_ended);
    CHECK(s.loss(l.ends())->held == l.ends() - moment(1000s));
    CHECK_FALSE(s.held(l.ends()));
    CHECK(s.holding());
    s.lose({loss_reason::node_deleted, 300ms, 0ms});
    CHECK(s.lost());
    CHECK(s.loss(l.ends())->reason == loss_reason::node_deleted);
    CHECK(s.loss(l.ends())->held == 300ms);
    CHECK(s.held_until() == lease_clock::time_point());
}

TEST_CASE("a thread that hears of the loss hears how")
{
    const recipes::lease l = new_lease();
    for (int round = 0; round < 100; ++round) {
        grant_state s;
        s.grant({l.span(), 0s, moment(1000s)});
        std::atomic<bool> asked = false;
        std::optional<lock_loss> seen;
        std::thread asks([&] {
            while (!(seen = s.loss(moment(1000s)))) {
                asked = true;
                std::this_thread::yield();
            }
        });
        while (!asked)
            std::this_thread::yield();
        s.lose({loss_reason::session_expired, 200ms, 100ms});
        asks.join();
        CHECK(seen->reason == loss_reason::session_expired);
        CHECK(seen->held == 200ms);
        CHECK(seen->unheard == 100ms);
    }
}
