// sanitizers: none
// program: requests
// Holders who are told nothing, because their lease goes on: with every connection that returns, and as long as they
// like.
#include "integration/play.hpp"

using namespace zklock::test;

namespace {

/// Or the scene ends here: what follows would wait in vain.
void still_held(pending<guard>& held, const char* when)
{
    if (!held.value())
        throw std::runtime_error(std::string("not ") + when);
}

} // namespace

TEST_CASE("a holder whose connection returns in time goes on holding")
{
    const auto story = [&](timed_scene& noted, admin_client& admin, remote_client& a,
                           remote_client& b) -> awaitable<void> {
        const auto path = new_path();
        auto held = begin_acquire(mutex(a.zk, path));
        REQUIRE(!co_await held.end());
        auto lost = begin_wait_lost(held.value());
        auto waiting = co_await queued(admin, path, 2, begin_acquire(mutex(b.zk, path)));
        const std::int64_t session = a.zk.session_id();
        for (int i = 0; i < 5; ++i) {
            co_await a.cut_off();
            still_held(held, "held when the connection is cut");
            const auto until_then = held.value().held_until();
            CHECK(a.zk.session_id() == session);
            a.link.accept();
            co_await until("connected", [&] { return a.zk.state() == connection_state::connected; });
            co_await until("the lease is renewed", [&] { return held.value().held_until() > until_then; });
            still_held(held, "held when the connection is back");
        }
        // Silence that nobody cuts, for a part of the lease.
        a.link.block();
        const auto blocked_at = steady_clock::now();
        co_await until("some silence", [&] { return steady_clock::now() > blocked_at + 1s; });
        still_held(held, "held when nothing was heard for a second");
        const auto until_then = held.value().held_until();
        a.link.unblock();
        co_await until("the lease is renewed", [&] { return held.value().held_until() > until_then; });
        noted.expect(!lost.ended() && !waiting.ended(), "nobody is told of a loss, nobody else is granted");
        still_held(held, "held until it is released");
        CHECK(a.zk.session_id() == session);
        co_await release_well(held);
        REQUIRE(!co_await waiting.end());
        CHECK(co_await lost.end() == asio::error::operation_aborted);
        co_await release_well(waiting);
    };
    play_timed<2>(1s, {.sessions = {10000ms}}, story);
}

TEST_CASE("a lease is kept fresh for as long as the lock is held, and a waiter's session for as long as it waits")
{
    const auto story = [&](timed_scene& noted, remote_client& a, remote_client& b) -> awaitable<void> {
        const auto path = new_path();
        auto held = begin_acquire(mutex(a.zk, path));
        REQUIRE(!co_await held.end());
        auto lost = begin_wait_lost(held.value());
        auto waiting = begin_acquire(mutex(b.zk, path));
        const auto begun = steady_clock::now();
        bool always = true;
        co_await until("two time-outs passed", [&] {
            always = always && static_cast<bool>(held.value());
            return steady_clock::now() > begun + 10000ms;
        });
        noted.expect(always, "held all the time");
        noted.expect(!lost.ended() && !waiting.ended(), "nobody is told of a loss, nobody else is granted");
        still_held(held, "held until it is released");
        co_await release_well(held);
        co_await take_turn(waiting);
    };
    play_timed<2>(500ms, {.sessions = {5000ms, 5000ms}}, story);
}
