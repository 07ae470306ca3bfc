// sanitizers: none
// program: told
// What an outage does to acquires at their deadline, and a process that stood still to its session: neither is taken
// for others who have the lock, or who have deleted a node.
#include "integration/kept_log.hpp"
#include "integration/recipe_scene.hpp"

#include <thread>

using namespace zklock::test;

TEST_CASE("others have the lock, and then the servers are silent: timed out while that is known, then not connected")
{
    const std::string path = "/outage/silent";
    const auto story = [&](admin_client& admin, remote_client& a, remote_client& b) -> awaitable<void> {
        mutex lock(a.zk, path, with(&mutex_options::metrics_name, "stock"));
        guard held = must(co_await mutex(b.zk, path).acquire());
        CHECK(error_in(co_await lock.acquire(1s)) == errc::timed_out);
        auto late = co_await queued(admin, path, 2, begin_acquire(lock, 6s));
        const auto looks_on = [&] { return watches_node(server().port(), a.zk.session_id(), held.node()); };
        co_await until("it knows behind whom", looks_on);
        a.link.block();
        CHECK(error_in(co_await lock.acquire(1s)) == errc::timed_out); // it was seen a moment ago
        REQUIRE(lock.last_timeout());
        CHECK(lock.last_timeout()->held_by);
        CHECK(to_string(*lock.last_timeout()).find("no answer") == std::string::npos);
        CHECK(error_in(co_await lock.acquire(0s)) == errc::timed_out);
        mutex unseen(a.zk, path + "/unseen");
        auto unanswered = begin_acquire(unseen, 500ms);
        CHECK(error_in(co_await unseen.acquire(0s)) == errc::not_connected); // nobody else is known
        CHECK(co_await unanswered.end() == errc::not_connected);
        CHECK(co_await late.end() == errc::not_connected); // longer ago than a session lasts
        REQUIRE(lock.last_timeout());
        CHECK(lock.last_timeout()->waited >= 6s);
        CHECK(lock.last_timeout()->no_answer);
        CHECK(to_string(*lock.last_timeout()).find("; when last seen, held by ") != std::string::npos);

        // In whatever way, of whatever recipe.
        const lock_owner me;
        shared_mutex book(a.zk, path + "/book");
        owned_shared_mutex diary(a.zk, path + "/diary");
        reentrant_mutex shelf(a.zk, path + "/shelf");
        semaphore gate(a.zk, path + "/gate", 2);
        multi_lock both(mutex(a.zk, path + "/b"), mutex(a.zk, path + "/a"));
        election chair(a.zk, path + "/chair");
        CHECK(error_in(co_await lock.acquire(0s)) == errc::not_connected);
        CHECK(error_in(co_await lock.acquire(20ms)) == errc::not_connected);
        CHECK(error_in(co_await book.acquire(20ms)) == errc::not_connected);
        CHECK(error_in(co_await book.shared().acquire(20ms)) == errc::not_connected);
        CHECK(error_in(co_await diary.owned_by(me).acquire(20ms)) == errc::not_connected);
        CHECK(error_in(co_await shelf.owned_by(me).acquire(20ms)) == errc::not_connected);
        CHECK(error_in(co_await gate.acquire(20ms)) == errc::not_connected);
        CHECK(error_in(co_await gate.acquire(0s)) == errc::not_connected);
        CHECK(error_in(co_await both.acquire(20ms)) == errc::not_connected);
        auto reign = [](leadership&) -> awaitable<void> { co_return; };
        CHECK(error_in(co_await chair.lead(20ms, reign)) == errc::not_connected);
        CHECK(error_in(co_await a.zk.wait_connected(20ms)) == errc::not_connected);
        for (const auto& told : {book.last_timeout(), shelf.last_timeout(), gate.last_timeout(), both.last_timeout(),
                                 chair.last_timeout()}) {
            REQUIRE(told);
            CHECK_FALSE(told->held_by);
            CHECK(told->not_connected_for);
        }
        CHECK(both.last_timeout()->path == path + "/a"); // the first in the order of their paths

        for (const lock_metrics& l : a.zk.metrics().by_name)
            if (l.name == "stock") {
                CHECK(l.timed_out == 3);
                CHECK(l.not_connected == 3);
                CHECK(l.failed == 0);
            }
        a.link.unblock();
        co_await a.connect();
        co_await release(std::move(held));
        co_await take_turn(lock, default_limit);
    };
    play<2>({.sessions = {4'000ms, 120s}, .clean = {path}}, story);
}

TEST_CASE("a handler that blocks until the session is over: counted as a delay, and nobody is said to have deleted")
{
    const std::string path = "/outage/blocked";
    play<0>({.clean = {path}}, [&](const any_io_executor& executor) -> awaitable<void> {
        const kept_log log;
        client_options options = fault_options(server().address(), 4'000ms);
        options.log = log;
        client zk(executor, options);
        client theirs(executor, usual_options());
        admin_client admin(server().port());
        guard held = must(co_await mutex(theirs, path).acquire());
        auto waits = begin_acquire(mutex(zk, path, with(&mutex_options::max_attempts, 1)));
        auto waits_on = co_await queued(admin, path, 3, begin_acquire(mutex(zk, path)));
        const std::string node = path + "/" + queue_of(admin, path)[1];
        const auto session = zk.session_id();
        co_await until("it watches its own node", [&] { return watches_node(server().port(), session, node); });

        std::this_thread::sleep_for(9s); // what is tested: the servers end the session meanwhile
        CHECK(co_await waits.end() == errc::session_expired);
        co_await until("it queues again", [&] { return zk.session_id() != 0 && zk.session_id() != session; });
        co_await until_queued(admin, path, 2);
        CHECK_FALSE(waits_on.ended());
        CHECK(zk.metrics().expiries == 1);
        CHECK(zk.metrics().heartbeat_delays.sum >= 4s);
        CHECK_FALSE(log.has("somebody else has deleted"));
        co_await release(std::move(held));
        co_await take_turn(waits_on);
        must(co_await zk.close());
        must(co_await theirs.close());
    });
}
