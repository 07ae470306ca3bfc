// The simulated ZooKeeper through the interface that the recipes use: what the real one promises, and the store's
// contract.
#include "store_scene.hpp"

#include <string>

using namespace zklock;
using namespace zklock::simulator;

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

TEST_CASE("whether a node exists is told to whoever may not read it, or is not, as the servers have it")
{
    for (const bool needs_read : {false, true}) {
        settings set = calm(3);
        set.exists_needs_read = needs_read;
        scene s(set);
        client c(s.w, s.e, 0);
        s.pass(1s);
        simulator::transaction t;
        t.what = simulator::transaction::kind::set_permissions;
        t.path = "/locks";
        t.allowed.read = false;
        s.e.administrate(std::move(t));
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

TEST_CASE("a watch on what is not there fires at its creation, once; one on what is there at a change, or at its end")
{
    scene s(calm(3));
    client c(s.w, s.e, 0);
    s.pass(1s);
    c.exists("/locks/a", true);
    c.exists("/locks/a", true);
    c.create("/locks/a", node_kind::ephemeral);
    c.set("/locks/a", 0);
    c.exists("/locks/a", true);
    c.set("/locks/a", 1);
    c.exists("/locks/a", true);
    c.create("/locks/a/below", node_kind::persistent); // refused, and no change
    c.remove("/locks/a");
    c.exists("/locks/a", false);
    c.create("/locks/a", node_kind::ephemeral);
    c.remove("/locks/a");
    c.exists("/locks/a", true);
    c.unwatch("/locks/a");
    c.create("/locks/a", node_kind::ephemeral);
    s.pass(1s);
    const std::string no_child = std::to_string(static_cast<int>(outcome::no_child_allowed));
    CHECK(c.taken() == notes{"new session", "exists " + no_node, "exists " + no_node, "created /locks/a",
                             "create 0 /locks/a", "set 0 version 1", "exists 0 version 1", "changed /locks/a",
                             "set 0 version 2", "exists 0 version 2", "create " + no_child + ' ', "deleted /locks/a",
                             "remove 0", "exists " + no_node, "create 0 /locks/a", "remove 0", "exists " + no_node,
                             "unwatch 0", "create 0 /locks/a"});
    CHECK(s.e.watches().empty());
}

TEST_CASE("whoever may not read a node is not told of its creation; its watch is used up")
{
    scene s(calm(1));
    client c(s.w, s.e, 0);
    s.pass(1s);
    const access_list unreadable{{"world", "anyone", permission::all & ~permission::read}};
    c.exists("/locks/a", true);
    c.create("/locks/a", node_kind::ephemeral, &unreadable);
    c.remove("/locks/a");
    c.create("/locks/a", node_kind::ephemeral);
    s.pass(1s);
    CHECK(c.taken() == notes{"new session", "exists " + no_node, "create 0 /locks/a", "remove 0", "create 0 /locks/a"});
    CHECK(s.e.watches().empty());
}

TEST_CASE("access lists are shown to whoever may read a node or set its list, and are set if their version fits")
{
    scene s(calm(3));
    client c(s.w, s.e, 0);
    s.pass(1s);
    c.taken();
    const access_list readers{digest_entry("ann", "secret"), {"world", "anyone", permission::read}};
    const access_list owners{digest_entry("ann", "secret"), {"world", "anyone", permission::admin}};
    const access_list hidden{digest_entry("ann", "secret"), {"world", "anyone", permission::write}};
    c.get_acl("/locks");
    c.get_acl("/missing");
    c.set_acl("/missing", owners, store::any_version);
    c.set_acl("/locks", owners, 1);
    c.set_acl("/locks", owners, 0);
    c.get_acl("/locks");
    c.set_acl("/locks", acl::creator_all, 1); // as whom?
    c.set_acl("/locks", access_list(std::vector<access_entry>()), 1);
    c.create("/locks/a", node_kind::ephemeral); // no more
    c.set_acl("/locks", readers, 1);
    c.get_acl("/locks");
    c.set_acl("/locks", owners, store::any_version);
    c.set("/locks", store::any_version);
    c.create("/b", node_kind::persistent, &hidden);
    c.get_acl("/b");
    c.set("/b", 0);
    s.pass(1s);
    const std::string bad_version = std::to_string(static_cast<int>(outcome::bad_version));
    const std::string invalid = std::to_string(static_cast<int>(outcome::invalid_acl));
    CHECK(c.taken() == notes{"get_acl 0 world:anyone:cdrwa version 0", "get_acl " + no_node, "set_acl " + no_node,
                             "set_acl " + bad_version, "set_acl 0",
                             "get_acl 0 digest:ann:cdrwa, world:anyone:a version 1", "set_acl " + invalid,
                             "set_acl " + invalid, "create " + no_auth + ' ', "set_acl 0",
                             "get_acl 0 digest:ann:cdrwa, world:anyone:r version 2", "set_acl " + no_auth,
                             "set " + no_auth + " version 0", "create 0 /b", "get_acl " + no_auth, "set 0 version 1"});
}

TEST_CASE("a batch is done in one transaction, and its events come in order before its answer")
{
    scene s(calm(3));
    client c(s.w, s.e, 0);
    s.pass(1s);
    c.create("/locks/a", node_kind::ephemeral);
    c.create("/locks/b", node_kind::ephemeral);
    for (const char* path : {"/locks/a", "/locks/b", "/locks"})
        c.get(path, true);
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
        if (what == fate::cut_before)
            CHECK(made == 0);
        if (what == fate::cut_after)
            CHECK(made == 2);
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
    CHECK(c.taken() == notes{"new session",
                             "children 0",
                             "children changed /locks",
                             "create 0 /locks/a",
                             "create 0 /locks/b",
                             "children 2",
                             "set 0 version 1",
                             "children changed /locks",
                             "remove 0",
                             "remove 0",
                             "children 0",
                             "get 0",
                             "unwatch 0",
                             "unwatch " + std::to_string(static_cast<int>(outcome::no_watcher)),
                             "children 0",
                             "get 0",
                             "set " + std::to_string(static_cast<int>(outcome::bad_version)) + " version 0",
                             "changed /locks",
                             "set 0 version 2",
                             "get 0",
                             "deleted /locks",
                             "remove 0"});
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
