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
        note((kind == store::event_kind::deleted            ? "deleted "
              : kind == store::event_kind::children_changed ? "children changed "
                                                            : "changed ") +
             std::string(path));
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
    void watch_children(const std::string& path)
    {
        store.children(path, true, [this](const store::children_reply& r) {
            note("children " + (r.names ? std::to_string(r.names->size()) : std::string("none")));
        });
    }
    void set(const std::string& path, std::int32_t version)
    {
        store.set(path, "new", version, [this](const store::stat_reply& r) {
            note("set " + std::to_string(static_cast<int>(r.result)) + " version " + std::to_string(r.stat.version));
        });
    }
    void unwatch(const std::string& path)
    {
        store.unwatch(path,
                      [this](const store::reply& r) { note("unwatch " + std::to_string(static_cast<int>(r.result))); });
    }
    void batch(const std::vector<store::batch_write>& writes)
    {
        store.batch(writes, [this](const store::batch_reply& r) {
            std::string line = "batch " + std::to_string(static_cast<int>(r.result));
            if (r.result != outcome::ok && r.result != outcome::unknown) line += " at " + std::to_string(r.failed);
            for (const auto path : r.created) line += ' ' + std::string(path);
            for (const auto& stat : r.set) line += " version " + std::to_string(stat.version);
            note(line);
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
    CHECK(s.e.watches().empty());
}

TEST_CASE("a batch is done in one transaction, and its events come in order before its answer")
{
    scene s(calm(3));
    client c(s.w, s.e, 0);
    s.pass(1s);
    c.create("/locks/a", node_kind::ephemeral);
    c.create("/locks/b", node_kind::ephemeral);
    for (const char* path : {"/locks/a", "/locks/b", "/locks"}) c.get(path, true);
    c.watch_children("/locks");
    s.pass(1s);
    c.taken();
    const auto before = s.e.last_zxid();
    using kind = store::batch_write::kind;
    c.batch({{kind::remove, "/locks/b", {}, {}, store::any_version},
             {kind::create, "/locks/n-", "x", node_kind::ephemeral_sequential, store::any_version},
             {kind::set, "/locks", "changed", {}, 0},
             {kind::remove, "/locks/a", {}, {}, 0},
             {kind::create, "/locks/n-", "y", node_kind::ephemeral_sequential, store::any_version},
             {kind::check, "/locks", {}, {}, 1}});
    c.children("/locks");
    s.pass(1s);
    CHECK(c.taken() == notes{"deleted /locks/b", "children changed /locks", "changed /locks", "deleted /locks/a",
                             "batch 0 /locks/n-0000000002 /locks/n-0000000003 version 1", "children 2"});
    CHECK(s.e.last_zxid() == before + 1);
    const auto* first = s.e.leaders_tree().find("/locks/n-0000000002");
    const auto* second = s.e.leaders_tree().find("/locks/n-0000000003");
    REQUIRE(first != nullptr);
    REQUIRE(second != nullptr);
    CHECK(first->czxid == before + 1);
    CHECK(second->czxid == before + 1);
    CHECK(s.e.watches().empty());
}

TEST_CASE("of a batch that fails nothing is done, nobody is told, and no number is used")
{
    scene s(calm(1));
    client c(s.w, s.e, 0);
    s.pass(1s);
    c.create("/locks/a", node_kind::ephemeral);
    c.get("/locks/a", true);
    c.watch_children("/locks");
    s.pass(1s);
    c.taken();
    using kind = store::batch_write::kind;
    c.batch({{kind::create, "/locks/n-", "x", node_kind::ephemeral_sequential, store::any_version},
             {kind::set, "/locks/a", "new", {}, 0},
             {kind::remove, "/locks/a", {}, {}, 1},
             {kind::create, "/locks/a", "again", node_kind::ephemeral, store::any_version},
             {kind::remove, "/locks/missing", {}, {}, store::any_version},
             {kind::remove, "/locks/a", {}, {}, store::any_version}});
    s.pass(1s);
    CHECK(c.taken() == notes{"batch " + no_node + " at 4"});
    const auto* a = s.e.leaders_tree().find("/locks/a");
    REQUIRE(a != nullptr);
    CHECK(a->data == "data");
    CHECK(a->version == 0);
    CHECK(a->owner == c.session);
    CHECK(s.e.leaders_tree().find("/locks")->children == 1);
    CHECK(s.e.leaders_tree().find("/locks")->creates == 1);
    CHECK(s.e.watches().size() == 2);
    CHECK(c.store.told_deleted("/locks/missing").has_value());
    CHECK_FALSE(c.store.told_deleted("/locks/a").has_value());
}

TEST_CASE("a batch may be done although its connection ended first, or not; never in part")
{
    for (const fate what : {fate::cut_before, fate::cut_after, fate::cut_between}) {
        scene s(calm(3));
        client c(s.w, s.e, 0);
        c.store.plan({{0, 1, what}});
        s.pass(1s);
        using kind = store::batch_write::kind;
        c.batch({{kind::create, "/locks/a", {}, node_kind::ephemeral, store::any_version},
                 {kind::create, "/locks/b", {}, node_kind::ephemeral, store::any_version}});
        s.pass(1s);
        CHECK(c.taken() == notes{"new session", "batch " + unknown, "disconnected", "same session"});
        const auto made = s.e.leaders_tree().children("/locks").size();
        CHECK((made == 0 || made == 2));
        if (what == fate::cut_before) CHECK(made == 0);
        if (what == fate::cut_after) CHECK(made == 2);
    }
}

TEST_CASE("a watch of children tells of a create, of a delete and of the node's own end, once; unwatch takes it back")
{
    scene s(calm(1));
    client c(s.w, s.e, 0);
    s.pass(1s);
    c.watch_children("/locks");
    c.create("/locks/a", node_kind::ephemeral);
    c.create("/locks/b", node_kind::ephemeral);
    c.watch_children("/locks");
    c.set("/locks", store::any_version);
    c.remove("/locks/a");
    c.remove("/locks/b");
    c.watch_children("/locks");
    c.get("/locks", true);
    c.unwatch("/locks");
    c.unwatch("/locks");
    c.watch_children("/locks");
    c.get("/locks", true);
    c.set("/locks", 0);
    c.set("/locks", 1);
    c.get("/locks", true);
    c.remove("/locks"); // watched twice, told once
    s.pass(1s);
    CHECK(c.taken() == notes{"new session", "children 0", "children changed /locks", "create 0 /locks/a",
                             "create 0 /locks/b", "children 2", "set 0 version 1", "children changed /locks",
                             "remove 0", "remove 0", "children 0", "get 0", "unwatch 0",
                             "unwatch " + std::to_string(static_cast<int>(outcome::no_watcher)), "children 0", "get 0",
                             "set " + std::to_string(static_cast<int>(outcome::bad_version)) + " version 0",
                             "changed /locks", "set 0 version 2", "get 0", "deleted /locks", "remove 0"});
    CHECK(s.e.watches().empty());
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
    CHECK(s.e.watches().empty());
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

TEST_CASE("a paused leader that wakes answers from the past, a sync too, until it learns that another leads")
{
    bool seen = false; // for some seed the client is at the leader, which takes some time to learn of it
    for (std::uint64_t seed = 1; seed < 60 && !seen; ++seed) {
        scene s(calm(3), seed);
        client c(s.w, s.e, 0);
        s.pass(1s);
        s.e.pause_leader(500ms);
        s.pass(100ms);
        if (!c.connected) continue; // it was at a follower
        transaction t;
        t.path = "/locks/a";
        s.e.administrate(std::move(t));
        c.taken();
        c.sync();
        c.children("/locks");
        s.pass(300ms);
        CHECK(c.taken() == notes{});
        s.pass(110ms);
        if (c.taken() != notes{"sync 0", "children 0"}) continue;
        c.create("/locks/b", node_kind::ephemeral); // nobody will ever agree
        c.sync();
        s.pass(5s);
        CHECK(c.taken() ==
              notes{"create " + unknown + ' ', "sync " + unknown, "disconnected", "same session"});
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
