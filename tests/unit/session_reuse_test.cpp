// What an idle path keeps, and nodes that serve more than one.
#include "session_scene.hpp"

#include "recipes/semaphore/semaphores.hpp"

using namespace zklock::unit;

// --- session, resting paths ------------------------------------------------------------------------------------------

TEST_CASE("an idle path keeps what it knows for about a session's time-out, and longer if it is used")
{
    connected_scene s(with(&client_options::session_timeout, 10s));
    s.hold_and_give_back("/p", 0);
    /// What is asked for while time passes, without the heartbeats, which are answered.
    const auto pass = [&](lease_clock::duration time) {
        std::string asked;
        for (; time > 0s; time -= 500ms) {
            s.clock.pass(500ms);
            for (std::size_t n = s.servers.requests.size(); n != 0; --n) {
                auto r = s.servers.take();
                if (r.what != "sync /")
                    asked += r.what + ";";
                r.answer(outcome::ok);
                s.clock.run();
            }
        }
        return asked;
    };
    for (int n = 1; n < 5; ++n) {
        CHECK(pass(6s) == "");
        const auto held = s.acquire("/p");
        asked(s).only("create /p/" + prefix(n + 1)).number(100 + n, n); // the number will do
        CHECK(held->ended == error_code());
        s.give_back(*held).nothing_else();
    }
    CHECK(pass(16s) == "unwatch /p;");
    CHECK(pass(20s) == "");
    const auto anew = s.acquire("/p");
    asked(s).all_of({"create /p/" + prefix(6), "watch /p"});
}

TEST_CASE("other options may be used once nobody needs the path")
{
    connected_scene s;
    const auto held = s.hold("/p", 0);
    const auto lingering = with(&mutex_options::linger, 1s);
    CHECK(s.acquire("/p", lingering)->ended == errc::invalid_option);
    s.give_back(*held);
    const auto next = s.acquire("/p", lingering);
    CHECK_FALSE(next->ended);
    asked(s).all_of({"create /p/" + prefix(2), "watch /p"});
}

TEST_CASE("a node that lingers leaves at once for a lock with other options")
{
    connected_scene s;
    const auto held = s.hold("/p", 0, with(&mutex_options::linger, 1min));
    s.release(*held);
    asked(s).to("watch children /p").list({scene::node(1, 0)});
    REQUIRE(s.servers.pending() == "");
    const std::string removal = "remove /p/" + scene::node(1, 0);
    SUBCASE("which waits") {
        CHECK_FALSE(s.acquire("/p")->ended);
        CHECK(s.servers.pending() == removal + ", create /p/" + prefix(2) + ", watch /p");
    }
    SUBCASE("which looks once, and does not find it") {
        CHECK_FALSE(s.acquire("/p", {}, recipes::acquire_mode::look_once)->ended);
        CHECK(s.servers.pending() == removal + ", children /p");
    }
}

// --- session, watches that are left ----------------------------------------------------------------------------------

TEST_CASE("of a path whose options have changed: taken back with the path, although it has none of its own")
{
    connected_scene s;
    s.hold_and_give_back("/p", 0);
    const auto look = s.acquire("/p", with(&mutex_options::linger, 1s), acquire_mode::look_once);
    asked(s).only("children /p").list({scene::node(7, 7)});
    CHECK(look->ended == errc::busy);
    CHECK(s.servers.pending() == "unwatch /p");
}

TEST_CASE("of all paths when the session goes: the servers know")
{
    connected_scene s;
    s.hold_and_give_back("/p", 0);
    s.destroy();
    asked(s).nothing_else();
}

TEST_CASE("of a path that others listen to: taken back with the last of them")
{
    connected_scene s(with(&client_options::session_timeout, 10s));
    s.hold_and_give_back("/p", 0);
    recipes::semaphores semaphores(*s.locks);
    recipes::permits_request request{{}, {"/s", with(&semaphore_options::count_path, "/p")}};
    request.done = [](error_code, const recipes::grant&) {};
    const auto waiting = semaphores.acquire(std::move(request));
    s.clock.run();
    s.servers.requests.clear(); // it stands in line
    s.clock.pass(11s);
    CHECK_FALSE(s.servers.asks("unwatch"));
    s.servers.requests.clear();
    CHECK(waiting->withdraw());
    s.clock.run();
    CHECK(s.servers.asks("unwatch /p"));
}

// --- session, reuse --------------------------------------------------------------------------------------------------

TEST_CASE("a lingering node serves the next with a token of its own, until its time is over")
{
    connected_scene s;
    const auto lingering = with(&mutex_options::linger, 1s);
    const auto first = s.hold("/p", 0, lingering);
    s.release(*first);
    CHECK(first->released == error_code()); // it is free: for us
    asked(s).only("watch children /p").list({scene::node(1, 0)});
    s.clock.pass(900ms);
    const auto second = s.acquire("/p", lingering);
    CHECK(second->ended == error_code());
    CHECK(second->given.node == first->given.node);
    CHECK(second->given.fencing_token == first->given.fencing_token + 1);
    asked(s).nothing_else();
    s.release(*second);
    s.clock.pass(999ms); // counted from the last release
    asked(s).nothing_else();
    s.clock.pass(1ms);
    CHECK(s.servers.pending() == "remove " + first->given.node);
}

TEST_CASE("somebody who queues elsewhere makes it leave")
{
    connected_scene s;
    const auto first = s.hold("/p", 0, with(&mutex_options::linger, 1s));
    s.release(*first);
    asked(s).to("watch children /p").list({scene::node(1, 0)});
    s.servers.observer->on_node_event(store::event_kind::children_changed, "/p");
    CHECK(s.servers.pending() == "remove " + first->given.node);
}

TEST_CASE("a cohort shares one node, and counts its grants in the token")
{
    connected_scene s;
    const auto in_cohorts = with(&mutex_options::cohort, 2);
    const auto first = s.hold("/p", 0, in_cohorts);
    const auto second = s.acquire("/p", in_cohorts);
    const auto third = s.acquire("/p", in_cohorts);
    asked(s).nothing_else();
    s.release(*first);
    CHECK(second->given.fencing_token == first->given.fencing_token + 1);
    CHECK(s.servers.pending() == "create /p/" + prefix(2)); // the last grant
    CHECK(first->released == error_code());
    asked(s).to("create /p/" + prefix(2)).number(101, 1);
    s.release(*second);
    CHECK(third->given.fencing_token == 101 * 4096);
}
