#include "testing/znode_tree.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace zklock;
using namespace zklock::testing;
using store::event_kind;
using store::node_kind;
using store::outcome;
using kind = testing::transaction::kind;

namespace {

struct writer {
    znode_tree tree;
    std::int64_t zxid = 100;

    znode_tree::effect create(std::string path, node_kind node = node_kind::persistent, std::int64_t session = 7)
    {
        return apply({.what = kind::create, .path = std::move(path), .node = node, .session = session});
    }
    znode_tree::effect remove(std::string path, std::int64_t session = 7)
    {
        return apply({.what = kind::remove, .path = std::move(path), .session = session});
    }
    znode_tree::effect apply(testing::transaction t)
    {
        t.zxid = ++zxid;
        return tree.apply(t);
    }
};

} // namespace

TEST_CASE("a sequence number counts all creates of children, and no delete")
{
    writer w;
    w.create("/locks");
    CHECK(w.create("/locks/a-", node_kind::ephemeral_sequential).path == "/locks/a-0000000000");
    CHECK(w.create("/locks/plain").path == "/locks/plain");
    CHECK(w.remove("/locks/a-0000000000").result == outcome::ok);
    CHECK(w.create("/locks/plain").result == outcome::node_exists); // a failed create takes none
    CHECK(w.create("/locks/b-", node_kind::persistent_sequential).path == "/locks/b-0000000002");

    const auto parent = znode_tree::stat(*w.tree.find("/locks"));
    CHECK(parent.num_children == 2);
    CHECK((parent.cversion + parent.num_children) / 2 == 3);
}

TEST_CASE("the numbers begin again with a new parent")
{
    writer w;
    w.create("/locks");
    w.create("/locks/a-", node_kind::ephemeral_sequential);
    w.remove("/locks/a-0000000000");
    w.remove("/locks");
    w.create("/locks");
    CHECK(w.create("/locks/a-", node_kind::ephemeral_sequential).path == "/locks/a-0000000000");
}

TEST_CASE("past 2^31 the numbers are negative")
{
    writer w;
    w.create("/locks");
    w.tree.set_creates("/locks", 0x7fff'ffff);
    CHECK(w.create("/locks/a-", node_kind::ephemeral_sequential).path == "/locks/a-2147483647");
    CHECK(w.create("/locks/a-", node_kind::ephemeral_sequential).path == "/locks/a--2147483648");
}

TEST_CASE("what a create may fail with")
{
    writer w;
    CHECK(w.create("/locks/a").result == outcome::no_node);
    w.create("/locks");
    w.create("/locks/e", node_kind::ephemeral);
    CHECK(w.create("/locks/e/child").result == outcome::no_child_allowed);
    w.apply({.what = kind::set_permissions, .path = "/locks", .allowed = {.create = false}});
    CHECK(w.create("/locks/b").result == outcome::no_auth);
    CHECK(w.remove("/locks/e").result == outcome::ok);
    w.apply({.what = kind::set_permissions, .path = "/locks", .allowed = {.create = false, .remove = false}});
    w.create("/locks/c", node_kind::persistent, testing::transaction::administrator);
    CHECK(w.remove("/locks/c").result == outcome::no_auth);
}

TEST_CASE("what a delete may fail with")
{
    writer w;
    CHECK(w.remove("/locks").result == outcome::no_node);
    w.create("/locks");
    w.create("/locks/a");
    CHECK(w.remove("/locks").result == outcome::not_empty);
}

TEST_CASE("the end of a session deletes its ephemeral nodes, all in one transaction")
{
    writer w;
    w.create("/locks");
    w.create("/locks/a", node_kind::ephemeral, 7);
    w.create("/locks/b", node_kind::ephemeral, 8);
    w.create("/locks/c", node_kind::ephemeral, 7);
    w.create("/locks/d", node_kind::persistent, 7);
    const auto effect = w.apply({.what = kind::close_session, .session = 7});
    CHECK(std::count_if(effect.events.begin(), effect.events.end(),
                        [](const auto& e) { return e.kind == event_kind::deleted; }) == 2);
    CHECK(w.tree.children("/locks") == std::vector<std::string>{"b", "d"});
}

TEST_CASE("a container goes when it is empty and had a child once")
{
    writer w;
    CHECK(w.create("/used", node_kind::container).stat.czxid == 101);
    w.create("/never", node_kind::container);
    w.create("/busy", node_kind::container);
    for (const char* path : {"/used/a", "/busy/a"})
        CHECK(w.create(path, node_kind::ephemeral).result == outcome::ok);
    CHECK(w.tree.idle_containers().empty());
    w.remove("/used/a");
    CHECK(w.tree.idle_containers() == std::vector<std::string>{"/used"});
    CHECK(w.apply({.what = kind::remove_idle_container, .path = "/busy"}).result == outcome::not_empty);
    CHECK(w.apply({.what = kind::remove_idle_container, .path = "/used"}).result == outcome::ok);
    CHECK(w.tree.find("/used") == nullptr);
    CHECK(znode_tree::stat(*w.tree.find("/busy")).ephemeral_owner == 0);
}

TEST_CASE("children of neighbours and grandchildren are not listed")
{
    writer w;
    for (const char* path : {"/locks", "/locks/a", "/locks/a/x", "/locks/ab", "/locks-2", "/locks-2/y"})
        w.create(path);
    CHECK(w.tree.children("/locks") == std::vector<std::string>{"a", "ab"});
    CHECK(w.tree.children("/") == std::vector<std::string>{"locks", "locks-2"});
}
