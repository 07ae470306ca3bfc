// The simulated ZooKeeper through the interface that the recipes use: what the real one promises, and the store's
// contract.
#include "ensemble.hpp"
#include "process.hpp"
#include "simulated_store.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace zklock;
using namespace zklock::simulator;
using store::node_kind;
using store::outcome;

namespace {

settings calm(unsigned servers)
{
    settings s;
    s.servers = servers;
    s.delay_spread = 0us;
    s.delay = 1ms;
    return s;
}

/// A client that writes down what it is told.
struct client final : store::observer {
    client(world& w, ensemble& e, unsigned number) : where(w, number, 0), store(w, e, where, number)
    {
        store.attach(*this);
    }

    void on_connected(const store::connect_reply& r) override
    {
        session = r.session_id;
        connected = true;
        note(r.renewed ? "new session" : "same session");
    }
    void on_disconnected() override
    {
        connected = false;
        note("disconnected");
    }
    void on_expired() override { note("expired"); }
    void on_authentication_failed() override { note("refused"); }
    void on_node_event(store::event_kind kind, std::string_view path) override
    {
        note((kind == store::event_kind::deleted ? "deleted " : "changed ") + std::string(path));
    }

    void create(const std::string& path, node_kind kind)
    {
        store.create(path, "data", kind, [this](const store::create_reply& r) {
            note("create " + std::to_string(static_cast<int>(r.result)) + ' ' + std::string(r.path));
        });
    }
    void remove(const std::string& path)
    {
        store.remove(path, store::any_version,
                     [this](const store::reply& r) { note("remove " + std::to_string(static_cast<int>(r.result))); });
    }
    void get(const std::string& path, bool watch)
    {
        store.get(path, watch,
                  [this](const store::get_reply& r) { note("get " + std::to_string(static_cast<int>(r.result))); });
    }
    void children(const std::string& path)
    {
        store.children(path, false, [this](const store::children_reply& r) {
            note("children " + (r.names ? std::to_string(r.names->size()) : std::string("none")));
        });
    }
    void sync()
    {
        store.sync("/", [this](const store::reply& r) { note("sync " + std::to_string(static_cast<int>(r.result))); });
    }

    void note(std::string what) { notes.push_back(std::move(what)); }
    std::vector<std::string> taken() { return std::exchange(notes, {}); }

    process where;
    simulated_store store;
    std::int64_t session = 0;
    bool connected = false;
    std::vector<std::string> notes;
};

struct scene {
    explicit scene(settings s, std::uint64_t seed = 1) : w(seed, std::move(s), false), e(w)
    {
        w.quiet = true; // no faults but those of the test
        transaction t;
        t.path = "/locks";
        e.administrate(std::move(t));
    }
    void pass(instant time)
    {
        const auto until = w.time.now() + time;
        while (w.time.step(until)) {
        }
        w.time.at(until, [] {});
        while (w.time.step(until)) {
        }
        CHECK(w.violation == "");
    }

    world w;
    ensemble e;
};

using notes = std::vector<std::string>;
const std::string ok = "0";
const std::string unknown = std::to_string(static_cast<int>(outcome::unknown));
const std::string no_node = std::to_string(static_cast<int>(outcome::no_node));

} // namespace

TEST_CASE("a connection's answers come in the order of its requests, and its reads see its writes")
{
    for (const unsigned servers : {1u, 3u}) {
        scene s(calm(servers));
        client c(s.w, s.e, 0);
        s.pass(1s);
        REQUIRE(c.taken() == notes{"new session"});
        c.create("/locks/a-", node_kind::ephemeral_sequential);
        c.children("/locks");
        c.create("/locks/b-", node_kind::ephemeral_sequential);
        c.children("/locks");
        c.remove("/locks/a-0000000000");
        c.children("/locks");
        c.sync();
        s.pass(1s);
        CHECK(c.taken() == notes{"create 0 /locks/a-0000000000", "children 1", "create 0 /locks/b-0000000001",
                                 "children 2", "remove 0", "children 1", "sync 0"});
    }
}

TEST_CASE("a watch tells once, before the answer to the write that set it off")
{
    scene s(calm(3));
    client c(s.w, s.e, 0);
    s.pass(1s);
    c.create("/locks/a", node_kind::ephemeral);
    c.get("/locks/a", true);
    c.get("/locks/a", true);
    c.get("/locks/missing", true);
    c.remove("/locks/a");
    c.create("/locks/a", node_kind::ephemeral);
    c.remove("/locks/a");
    s.pass(1s);
    CHECK(c.taken() == notes{"new session", "create 0 /locks/a", "get 0", "get 0", "get " + no_node, "deleted /locks/a",
                             "remove 0", "create 0 /locks/a", "remove 0"});
    CHECK(s.e.watches() == 0);
}

TEST_CASE("no watch outlives its epoch")
{
    scene s(calm(1));
    client c(s.w, s.e, 0);
    s.pass(1s);
    c.create("/locks/a", node_kind::ephemeral);
    c.get("/locks/a", true);
    s.pass(1s);
    c.store.cut();
    s.pass(1s);
    CHECK(c.taken() == notes{"new session", "create 0 /locks/a", "get 0", "disconnected", "same session"});
    CHECK(s.e.watches() == 0);
}

TEST_CASE("requests under way when the connection ends are unknown, and told so before the disconnection")
{
    scene s(calm(1));
    client c(s.w, s.e, 0);
    s.pass(1s);
    c.create("/locks/a", node_kind::ephemeral);
    c.sync();
    c.store.cut();
    s.pass(1s);
    CHECK(c.taken() ==
          notes{"new session", "create " + unknown + ' ', "sync " + unknown, "disconnected", "same session"});
}

TEST_CASE("a request may be done although its connection ended first, or not")
{
    const auto made_with = [](fate what) {
        scene s(calm(3));
        client c(s.w, s.e, 0);
        c.store.plan({{0, 1, what}});
        s.pass(1s);
        c.create("/locks/a", node_kind::ephemeral);
        s.pass(1s);
        CHECK(c.taken() == notes{"new session", "create " + unknown + ' ', "disconnected", "same session"});
        return s.e.leaders_tree().find("/locks/a") != nullptr;
    };
    CHECK_FALSE(made_with(fate::cut_before));
    CHECK(made_with(fate::cut_after));
}

TEST_CASE("a client that is not heard of loses its session, and hears of it when it comes back")
{
    scene s(calm(3));
    client c(s.w, s.e, 0);
    client other(s.w, s.e, 1);
    s.pass(1s);
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
    client c(s.w, s.e, 0);
    s.pass(1s);
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
        client c(s.w, s.e, 0);
        s.pass(1s);
        for (unsigned server = 0; server < 3; ++server) s.e.cut_off(server, 2s);
        transaction t;
        t.path = "/locks/a";
        s.e.administrate(t);
        c.taken();
        c.children("/locks");
        s.pass(1s);
        if (c.taken() != notes{"children 0"}) continue;
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
    client c(s.w, s.e, 0);
    s.pass(1s);
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

TEST_CASE("a paused process runs nothing, and everything in its order afterwards")
{
    scene s(calm(1));
    client c(s.w, s.e, 0);
    s.pass(1s);
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
