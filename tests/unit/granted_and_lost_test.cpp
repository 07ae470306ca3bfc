// What an acquire is told whose grant was decided, and ended before the news of it went out: the process did not run
// in between for longer than its lease.
#include "session_scene.hpp"

#include "recipes/composed/election.hpp"
#include "recipes/composed/multi_acquisition.hpp"
#include "recipes/composed/reentrant_locks.hpp"
#include "recipes/semaphore/semaphores.hpp"

using namespace zklock::unit;

namespace {

/// A session whose process sleeps when the test says so.
struct sleepy_scene : connected_scene {
    std::shared_ptr<attempt> want_a_permit(recipes::semaphores& semaphores)
    {
        return acquire_by([&](recipes::acquire_call call) {
            return semaphores.acquire({std::move(call), {"/s", {}}});
        });
    }
    /// The answer that grants a node with that number, above 0, has come; the news has not gone out.
    void decide(int n, const std::string& path = "/p", const char* mark = "lock-")
    {
        asked(*this).to("create " + path + "/" + prefix(1, mark)).number(100 + n, n);
        asked(*this).to("watch " + path).kept().show_stat(last_child(n + 1, 100 + n));
    }
    /// The answer comes, and then nothing runs for longer than the lease.
    void grant_and_sleep(int n, const std::string& path = "/p", const char* mark = "lock-")
    {
        decide(n, path, mark);
        sleep();
    }
    void sleep()
    {
        clock.skip(1min);
        clock.run();
    }
    /// Told so, and nothing else, ever; and the node goes.
    void check_lost(const attempt& a)
    {
        CHECK(a.ended == errc::lost);
        asked(*this).only("remove " + a.given.node).ends(outcome::ok);
        CHECK(a.losses == 0);
    }
};

} // namespace

TEST_CASE("a mutex, and what is shared")
{
    using enum contender_kind;
    for (const auto& [kind, mark] : {std::pair{mutex, "lock-"}, {writer, "__WRIT__"}, {reader, "__READ__"}}) {
        sleepy_scene s;
        const auto a = s.acquire("/p", {}, acquire_mode::wait, kind);
        s.grant_and_sleep(3, "/p", mark);
        CHECK_FALSE(a->handle->held(s.clock.now()));
        s.check_lost(*a);
    }
}

TEST_CASE("with the end of the session, or of the client")
{
    {
        sleepy_scene s;
        const auto a = s.acquire("/p");
        s.decide(3);
        s.end_session();
        CHECK(a->ended == errc::lost);
        CHECK(a->losses == 0);
    }
    sleepy_scene s;
    const auto a = s.acquire("/p");
    s.decide(3);
    s.close();
    CHECK(a->ended == errc::closed);
    CHECK(a->losses == 0);
}

TEST_CASE("a writer's downgrade")
{
    sleepy_scene s;
    const auto a = s.hold_as_writer("/p");
    std::optional<error_code> downgraded;
    CHECK(a->handle->downgrade([&](error_code ec, const recipes::grant&) { downgraded = ec; }));
    asked(s).to(scene::downgrade("/p")).kept().done({scene::downgraded("/p")});
    s.sleep();
    CHECK(downgraded == errc::lost);
    CHECK(a->losses == 1);
}

TEST_CASE("a re-entrant mutex")
{
    sleepy_scene s;
    recipes::reentrant_locks locks(*s.locks, s.clock, std::make_shared<recipes::hold_counts>());
    const auto a = s.acquire_by([&](auto call) { return locks.acquire(1, "/p", {}, std::move(call)); });
    s.grant_and_sleep(3);
    s.check_lost(*a);
}

TEST_CASE("a further acquire of an owner who holds a re-entrant mutex")
{
    sleepy_scene s;
    recipes::reentrant_locks locks(*s.locks, s.clock, std::make_shared<recipes::hold_counts>());
    const auto first = s.acquire_by([&](auto call) { return locks.acquire(1, "/p", {}, std::move(call)); });
    s.decide(3);
    s.clock.run();
    REQUIRE(first->ended == error_code());
    const auto again = std::make_shared<scene::attempt>();
    again->handle = locks.acquire(1, "/p", {}, call_of(again));
    s.sleep();
    CHECK(again->ended == errc::lost);
    CHECK(again->losses == 0);
    CHECK(first->losses == 1);
}

TEST_CASE("an election")
{
    sleepy_scene s;
    const auto where = std::make_shared<recipes::election>();
    const auto a = s.acquire_by([&](auto call) {
        return where->stand(*s.session, std::make_shared<recipes::candidate>(), s.lock_of("/p"), std::move(call));
    });
    s.grant_and_sleep(3);
    CHECK_FALSE(where->leads(s.clock.now()));
    s.check_lost(*a);
}

TEST_CASE("a multi-lock's member: its user was promised nothing yet, and it begins anew")
{
    sleepy_scene s;
    const auto a = s.acquire_by([&](auto call) {
        return recipes::multi_acquisition::start(*s.session, {{"/p", s.lock_of("/p")}, {"/q", s.lock_of("/q")}},
                                                 std::move(call));
    });
    s.grant_and_sleep(3);
    CHECK_FALSE(a->ended);
    asked(s).all_of({"remove /p/" + scene::node(1, 3), "create /p/" + prefix(2)});
    CHECK(a->handle->withdraw());
}

TEST_CASE("a semaphore")
{
    sleepy_scene s;
    recipes::semaphores semaphores(*s.locks);
    const auto a = s.want_a_permit(semaphores);
    s.decide(3, "/s/locks");
    s.clock.run();
    const std::string lease = "_c_00000000-0000-4000-8000-000000000002-lease-0000000000";
    asked(s).to("create /s/leases/" + prefix(2, "lease-")).number(200, 0);
    asked(s).to("children /s/leases").kept().list({lease});
    s.sleep();
    CHECK(a->ended == errc::lost);
    CHECK(a->losses == 0);
    CHECK_FALSE(a->handle->held(s.clock.now()));
    asked(s).all_of({"remove /s/locks/" + scene::node(1, 3), "remove /s/leases/" + lease});
}

TEST_CASE("the lock of a semaphore's line: its user was promised nothing yet, and lines up again")
{
    sleepy_scene s;
    recipes::semaphores semaphores(*s.locks);
    const auto a = s.want_a_permit(semaphores);
    s.grant_and_sleep(3, "/s/locks");
    CHECK_FALSE(a->ended);
    asked(s).all_of({"remove /s/locks/" + scene::node(1, 3), "create /s/locks/" + prefix(2)});
    CHECK(a->handle->withdraw());
}
