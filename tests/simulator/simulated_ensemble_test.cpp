// Sessions, leaders, followers and clocks of the simulated ZooKeeper, as its clients see them.
#include "store_scene.hpp"

using namespace zklock::simulator;

TEST_CASE("a client that is not heard of loses its session, and hears of it when it comes back")
{
    scene s(calm(3));
    connected_client c(s), other(s, 1);
    c.create("/locks/a", node_kind::ephemeral);
    s.pass(1s);
    other.get("/locks/a", true);
    s.pass(1s);
    c.taken();
    c.store.block(9s);
    s.pass(8s);
    CHECK_FALSE(s.e.alive(c.session));
    CHECK(other.taken().back() == "deleted /locks/a");
    CHECK(c.taken() == notes{"disconnected"});
    s.pass(9s);
    CHECK(c.taken() == notes{"expired", "new session"});
}

TEST_CASE("a client that only keeps its connection keeps its session")
{
    auto set = calm(3);
    set.leader_drift_ppm = 4'000;
    scene s(set);
    client c(s.w, s.e, 0);
    s.pass(1h);
    CHECK(c.taken() == notes{"new session"});
    CHECK(s.e.alive(c.session));
}

TEST_CASE("a session ends at once when its client closes it")
{
    scene s(calm(3));
    connected_client c(s);
    c.create("/locks/a", node_kind::ephemeral);
    s.pass(1s);
    c.taken();
    c.sync();
    bool closed = false;
    c.store.close([&] { closed = true; });
    s.pass(100ms);
    CHECK(closed);
    CHECK(c.taken() == notes{"sync " + unknown});
    CHECK_FALSE(s.e.alive(c.session));
    CHECK(s.e.leaders_tree().find("/locks/a") == nullptr);
}

TEST_CASE("a follower that is cut off answers reads from the past, and a sync waits for its leader")
{
    bool seen = false; // for some choice of servers one of the clients is at a follower
    for (std::uint64_t seed = 1; seed < 20 && !seen; ++seed) {
        scene s(calm(3), seed);
        connected_client c(s);
        for (unsigned server = 0; server < 3; ++server)
            s.e.cut_off(server, 2s);
        s.e.administrate({.what = kind::create, .path = "/locks/a"});
        c.taken();
        c.children("/locks");
        s.pass(1s);
        if (c.taken() != notes{"children 0"})
            continue;
        c.sync();
        c.children("/locks");
        s.pass(500ms);
        CHECK(c.taken() == notes{});
        s.pass(2s);
        CHECK(c.taken() == notes{"sync 0", "children 1"});
        seen = true;
    }
    CHECK(seen);
}

TEST_CASE("with an eager check of access lists a cut-off follower refuses at once, and out of order")
{
    bool seen = false; // for some choice of servers the client is at a follower
    for (std::uint64_t seed = 1; seed < 20 && !seen; ++seed) {
        auto set = calm(3);
        set.eager_access_check = true;
        scene s(set, seed);
        connected_client c(s);
        s.e.administrate({.what = kind::set_permissions, .path = "/locks", .allowed = {.create = false}});
        s.pass(100ms);
        for (unsigned server = 0; server < 3; ++server)
            s.e.cut_off(server, 2s);
        c.taken();
        c.create("/locks/a", node_kind::ephemeral);
        s.pass(100ms);
        CHECK(c.taken() == notes{"create " + no_auth + ' '});
        c.sync();
        s.pass(100ms);
        if (c.taken() == notes{"sync 0"})
            continue;                               // by the leader
        c.create("/locks/a", node_kind::ephemeral); // the client hangs up when this is answered before the sync
        s.pass(10ms);
        auto told = c.taken();
        told.resize(3); // it may be connected again
        CHECK(told == notes{"sync " + unknown, "create " + unknown + ' ', "disconnected"});
        seen = true;
    }
    CHECK(seen);
}

TEST_CASE("a write that is still travelling when its session has moved is not executed")
{
    scene s(calm(3));
    client c(s.w, s.e, 0);
    c.store.plan({{0, 1, fate::stall}});
    s.w.quiet = false;
    s.pass(1s);
    c.create("/locks/a", node_kind::ephemeral); // stalls for a time drawn by the seed, up to six seconds
    const auto late = c.store.blocked_until;
    c.store.blocked_until = s.w.time.now();
    c.store.cut();
    s.pass(500ms);
    REQUIRE(late > s.w.time.now());
    CHECK(c.taken().back() == "same session");
    s.pass(10s);
    CHECK(s.e.leaders_tree().find("/locks/a") == nullptr);
}

TEST_CASE("a new leader has all that was answered, and gives each session its time again")
{
    scene s(calm(5));
    connected_client c(s);
    c.create("/locks/a", node_kind::ephemeral);
    s.pass(1s);
    for (unsigned server = 0; server < 5; ++server) {
        s.e.restart(server, 500ms);
        s.pass(3s);
        CHECK(s.e.leaders_tree().find("/locks/a") != nullptr);
        CHECK(s.e.alive(c.session));
    }
    CHECK(c.connected);
    c.taken();
    c.remove("/locks/a");
    s.pass(1s);
    CHECK(c.taken() == notes{"remove 0"});
    CHECK((s.e.last_zxid() >> 32) > 1);
}

TEST_CASE("a paused leader that wakes answers from the past, a sync too, until it learns that another leads")
{
    bool seen = false; // for some seed the client is at the leader, which takes some time to learn of it
    for (std::uint64_t seed = 1; seed < 60 && !seen; ++seed) {
        scene s(calm(3), seed);
        connected_client c(s);
        s.e.pause_leader(500ms);
        s.pass(100ms);
        if (!c.connected)
            continue; // it was at a follower
        s.e.administrate({.what = kind::create, .path = "/locks/a"});
        c.taken();
        c.sync();
        c.children("/locks");
        s.pass(300ms);
        CHECK(c.taken() == notes{});
        s.pass(110ms);
        if (c.taken() != notes{"sync 0", "children 0"})
            continue;
        c.create("/locks/b", node_kind::ephemeral); // nobody will ever agree
        c.sync();
        s.pass(5s);
        CHECK(c.taken() == notes{"create " + unknown + ' ', "sync " + unknown, "disconnected", "same session"});
        CHECK(s.e.leaders_tree().find("/locks/b") == nullptr);
        c.sync();
        c.children("/locks");
        s.pass(1s);
        CHECK(c.taken() == notes{"sync 0", "children 1"});
        seen = true;
    }
    CHECK(seen);
}

TEST_CASE("a paused process runs nothing, and everything in its order afterwards")
{
    scene s(calm(1));
    connected_client c(s);
    c.taken();
    c.sync();
    (void)c.where.call_at(c.where.now() + 100ms, [&] { c.note("timer"); });
    c.where.pause(1s);
    s.pass(900ms);
    CHECK(c.taken() == notes{});
    s.pass(200ms);
    CHECK(c.taken() == notes{"sync 0", "timer"});
}

TEST_CASE("a clock that drifts still runs its timers at the time it shows")
{
    for (const std::int32_t drift : {-5'000, 0, 5'000}) {
        scene s(calm(1));
        process p(s.w, 0, drift);
        const auto wanted = p.now() + 10s;
        process::time_point ran{};
        (void)p.call_at(wanted, [&] { ran = p.now(); });
        s.pass(11s);
        CHECK(ran >= wanted);
        CHECK(ran < wanted + 1ms);
    }
}

TEST_CASE("servers that are all down for long keep their sessions, and hang up on everybody meanwhile")
{
    scene s(calm(3));
    connected_client c(s);
    c.taken();
    s.e.all_down(30s);
    s.e.restart(0, 1s); // alone, it does not serve
    s.pass(29s);
    CHECK(c.taken() == notes{"disconnected"});
    s.pass(10s);
    CHECK(c.taken() == notes{"same session"});
}

TEST_CASE("servers that were set back keep out whoever has seen more, until his session should be over, and end it")
{
    for (const bool in_the_backup : {false, true}) {
        CAPTURE(in_the_backup);
        scene s(calm(3));
        if (!in_the_backup)
            s.e.back_up();
        connected_client c(s);
        c.create("/locks/old", node_kind::ephemeral);
        s.pass(1s);
        if (in_the_backup)
            s.e.back_up();
        c.create("/locks/new", node_kind::ephemeral);
        s.pass(1s);
        const auto session = c.session;
        c.taken();
        s.e.all_down(1s);
        s.e.set_back();
        CHECK(s.e.alive(session) == in_the_backup);
        CHECK((s.e.leaders_tree().find("/locks/old") != nullptr) == in_the_backup);
        CHECK(s.e.leaders_tree().find("/locks/new") == nullptr);
        s.pass(3s);
        CHECK(c.taken() == notes{"disconnected"});
        s.pass(10s);
        CHECK(c.taken() == notes{"expired", "new session"});
        CHECK_FALSE(s.e.alive(session));
        CHECK(s.e.leaders_tree().find("/locks/old") == nullptr);
    }
}

TEST_CASE("servers that were set back and elect a leader keep nobody out, and what they write next is later than all")
{
    auto set = calm(3);
    set.set_back_unnoticed = true;
    scene s(set);
    connected_client c(s);
    c.create("/locks/old", node_kind::ephemeral);
    s.pass(1s);
    s.e.back_up();
    c.create("/locks/new", node_kind::ephemeral);
    s.pass(1s);
    const auto session = c.session;
    const auto last = s.e.last_zxid();
    c.taken();
    s.e.all_down(1s);
    s.e.set_back();
    s.pass(5s);
    CHECK(c.taken() == notes{"disconnected", "same session"});
    CHECK(s.e.alive(session));
    CHECK(s.e.leaders_tree().find("/locks/old") != nullptr);
    CHECK(s.e.leaders_tree().find("/locks/new") == nullptr);
    c.create("/locks/newer", node_kind::ephemeral);
    s.pass(1s);
    CHECK(s.e.leaders_tree().find("/locks/newer")->czxid > last);
}
