// The simulated ZooKeeper through the interface that the recipes use: what `conformance/` cannot ask a real one, which
// has one server and loses no connection in the middle of a request.
#include "store_scene.hpp"

using namespace zklock::simulator;

TEST_CASE("a connection's answers come in the order of its requests, and its reads see its writes")
{
    for (const unsigned servers : {1u, 3u}) {
        scene s(calm(servers));
        connected_client c(s);
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

TEST_CASE("whether a node exists is told to whoever may not read it, or is not, as the servers have it")
{
    for (const bool needs_read : {false, true}) {
        settings set = calm(3);
        set.exists_needs_read = needs_read;
        scene s(set);
        connected_client c(s);
        s.e.administrate({.what = kind::set_permissions, .path = "/locks", .allowed = {.read = false}});
        c.create("/locks/a", node_kind::ephemeral);
        c.sync();
        s.pass(1s);
        c.taken();
        for (const char* path : {"/locks", "/locks/a", "/locks/missing", "/missing/too"})
            c.exists(path);
        c.get("/locks", false);
        s.pass(1s);
        const std::string of_the_path = needs_read ? "exists " + no_auth : "exists 0 version 0";
        CHECK(c.taken() ==
              notes{of_the_path, "exists 0 version 0", "exists " + no_node, "exists " + no_node, "get " + no_auth});
    }
}

TEST_CASE("a batch may be done although its connection ended first, or not; never in part")
{
    for (const fate what : {fate::cut_before, fate::cut_after, fate::cut_between}) {
        scene s(calm(3));
        client c(s.w, s.e, 0);
        c.store.plan({{0, 1, what}});
        s.pass(1s);
        constexpr auto create = store::batch_write::kind::create;
        c.batch({{create, "/locks/a", {}, node_kind::ephemeral, store::any_version},
                 {create, "/locks/b", {}, node_kind::ephemeral, store::any_version}});
        s.pass(1s);
        CHECK(c.taken() == notes{"new session", "batch " + unknown, "disconnected", "same session"});
        const auto made = s.e.leaders_tree().children("/locks").size();
        CHECK((made == 0 || made == 2));
        if (what == fate::cut_before)
            CHECK(made == 0);
        if (what == fate::cut_after)
            CHECK(made == 2);
    }
}

TEST_CASE("requests under way when the connection ends are unknown, and told so before the disconnection")
{
    scene s(calm(1));
    connected_client c(s);
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
