// Sessions whose time differs: of another server, or of another session.
#include "session_scene.hpp"

using namespace zklock::unit;

TEST_CASE("to a server that grants the session less time, end what was held on the longer lease")
{
    connected_scene s;
    const auto a = s.hold("/p", 0);
    s.servers.observer->on_disconnected();
    s.servers.observer->on_connected({5, 4s, false, s.clock.now()});
    show_writes_kept(s);
    s.clock.run();
    CHECK(a->losses == 1);
    asked(s).only("remove /p/" + scene::node(1, 0)).ends(outcome::ok);
}
TEST_CASE("to a server that grants the session more time, change nothing: another leader may not know of that")
{
    scene s;
    s.start();
    s.connect(5, true, 4s);
    const auto a = s.hold("/p", 0);
    s.servers.observer->on_disconnected();
    s.connect(5, false, 40s);
    CHECK(a->losses == 0);
    s.clock.pass(1s);
    asked(s).to("sync /").ends(outcome::ok);
    CHECK(a->handle->held(s.clock.now()));
    CHECK(a->handle->held_until() < s.clock.now() + 4s);
    s.clock.pass(4s);
    CHECK(a->losses == 1);
}

TEST_CASE("over a handle that has seen nothing, tell nobody before the server has caught up")
{
    connected_scene s;
    const auto a = s.hold("/p", 0);
    struct attempt {
        bool new_handle;
        outcome answer;
    };
    // What is not answered counts for the next connection over the same handle, too. A refusal is an answer.
    for (const auto& [new_handle, how] : {attempt{true, outcome::unknown}, attempt{false, outcome::ok},
                                          attempt{true, outcome::unknown}, attempt{false, outcome::no_auth}}) {
        s.servers.observer->on_disconnected();
        s.reappear(new_handle);
        CHECK(s.session->state() == connection_state::suspended);
        REQUIRE(s.servers.requests.size() == 1);
        asked(s).to("batch check /").ends(how);
        show_writes_kept(s);
        const bool began = how != outcome::unknown; // else its end comes
        CHECK((s.session->state() == connection_state::connected) == began);
        s.lose_answers();
    }
    CHECK(a->losses == 0);
}
TEST_CASE("over such a handle to a server with which the client is closed: nothing begins")
{
    connected_scene s;
    s.hold("/p", 0);
    s.servers.observer->on_disconnected();
    s.reappear(true);
    s.session->close([] {});
    asked(s).to("batch check /").ends(outcome::ok).nothing_else();
    CHECK(s.session->state() == connection_state::closed);
}
TEST_CASE("that do not come let no release wait for longer than the session should live, and forget nothing")
{
    connected_scene s;
    const auto a = s.hold("/p", 0);
    s.acquire("/q");
    s.lose_connection(); // nobody knows whether its node was made
    a->handle->release([a](error_code ec) { a->released = ec; });
    s.clock.pass(14s); // less than the time-out, the margin and a tick
    CHECK(s.session->state() == connection_state::suspended);
    CHECK_FALSE(a->released);
    s.clock.pass(1s);
    CHECK(s.session->state() == connection_state::connecting);
    CHECK(s.session->id() == 5); // that is no expiry
    CHECK(s.counted.expiries.read() == 0);
    CHECK(a->released == error_code());
    a->released.reset();

    s.connect(5, false);
    CHECK(s.session->state() == connection_state::connected);
    asked(s).to("children /q").to("remove /p/" + scene::node(1, 0)).ends(outcome::ok);
    CHECK_FALSE(a->released); // once is enough
}
TEST_CASE("that do not come: the session may live for the longest time that it was granted")
{
    scene s;
    s.start();
    s.connect(5, true, 20s);
    s.servers.observer->on_disconnected();
    s.connect(5, false, 10s);
    s.servers.observer->on_disconnected();
    s.clock.pass(20s);
    CHECK(s.session->state() == connection_state::suspended);
    s.clock.pass(5s);
    CHECK(s.session->state() == connection_state::connecting);
}
TEST_CASE("count that time from the last connection")
{
    connected_scene s;
    s.lose_connection();
    s.clock.pass(10s);
    s.connect(5, false);
    s.lose_connection();
    s.clock.pass(14s);
    CHECK(s.session->state() == connection_state::suspended);
    s.clock.pass(1s);
    CHECK(s.session->state() == connection_state::connecting);
    std::vector<std::int64_t> told;
    s.session->on_state([&](connection_state) { told.push_back(s.session->id()); });
    s.expire();
    CHECK(told == std::vector<std::int64_t>{0}); // the state is the same, the session is not
    s.connect(6, true);
    s.lose_connection();
    s.clock.pass(14s);
    CHECK(s.session->state() == connection_state::suspended);
}

TEST_CASE("a time that a server has granted counts as long as that server may report late, and no longer")
{
    for (const int connections : {1, 2}) {
        CAPTURE(connections);
        scene s;
        s.options.server_tick = 500ms;
        s.start();
        s.connect(5, true, 40s);
        const auto again = [&s](std::chrono::seconds granted) {
            s.servers.observer->on_disconnected();
            s.connect(5, false, granted);
        };
        again(4s);
        for (int i = 0; i < connections; ++i)
            again(40s);
        const auto a = s.enqueue("/p", 0);
        asked(s).to("watch /p").alone(1, 100);
        for (int beats = 0; beats < 20 && !a->ended; ++beats) { // what is held counts from a fresh lease
            s.clock.pass(1s);
            while (!s.servers.requests.empty())
                asked(s).to("sync /").ends(outcome::ok);
        }
        REQUIRE(a->ended == error_code());
        const auto left = a->handle->held_until() - s.clock.now();
        CHECK(left > (connections == 1 ? 1s : 10s));
        CHECK(left < (connections == 1 ? 4s : 40s));
    }
}

TEST_CASE("in a session with less time than the last, the loss is told by its own lease")
{
    scene s;
    s.start();
    s.connect(5, true, 40s);
    s.hold_and_give_back("/p", 0);
    s.end_session();
    s.connect(6, true, 4s);
    const auto a = s.hold("/p", 1);
    CHECK(a->handle->held(s.clock.now()));
    s.clock.pass(a->handle->held_until() - s.clock.now());
    CHECK_FALSE(a->handle->held(s.clock.now()));
    CHECK(a->losses == 1);
}

TEST_CASE("one sync serves all lost creates, and when it fails none of them takes the lists as complete")
{
    connected_scene s;
    const auto a = s.acquire("/a"), b = s.acquire("/b");
    s.reconnect();
    CHECK(s.servers.pending() == "sync /, children /a, children /b");
    asked(s).to("sync /").ends(outcome::server_error).to("children /a").list({}).to("children /b").list({});
    CHECK(s.servers.pending() == "sync /, children /a, children /b");
    asked(s).to("sync /").ends(outcome::ok).to("children /a").list({}).to("children /b").list({});
    CHECK(s.servers.asks("create /a/" + prefix(3)));
    CHECK_FALSE(s.servers.asks("sync"));
}

TEST_CASE("a new session begins with a heartbeat, whenever the last one's next was due")
{
    connected_scene s;
    s.clock.pass(1s);
    s.servers.observer->on_disconnected();
    s.servers.observer->on_expired();
    s.servers.observer->on_connected({6, 10s, true, s.clock.now()});
    s.clock.pass(0ms);
    CHECK(s.servers.pending() == "sync /");
}
