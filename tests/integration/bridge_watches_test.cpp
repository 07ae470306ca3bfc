// sanitizers: address
// program: bridge
// Watches of nodes and of their children, over a real server: when they fire, and how they end.
#include "integration/bridge_client.hpp"
#include "support/admin_client.hpp"
#include "support/expect_clean.hpp"
#include "support/four_letter_words.hpp"
#include "support/proxy.hpp"
#include "support/zookeeper_server.hpp"

#include <algorithm>

using namespace zklock;
using namespace zklock::test;

TEST_CASE("a watch of children fires at a create, at a delete, and when the node itself goes; once each time")
{
    zookeeper_server server;
    admin_client admin{server.port()};
    admin.create("/p");
    bridge_client c{options_for(server.address())};
    c.wait_connected();
    CHECK(c.children("/none", true).result == outcome::no_node);
    CHECK(watch_count(server.port()) == 0);
    CHECK(c.children("/p", true).result == outcome::ok);
    CHECK(watch_count(server.port()) == 1);
    CHECK(watches(server.port()).empty()); // the server does not tell where it is
    CHECK_THROWS(expect_clean(server, {}, 50ms));

    std::size_t seen = 0;
    const auto next_event = [&](auto change) {
        CHECK(c.children("/p", true).result == outcome::ok);
        change();
        c.run_until([&] { return c.events.size() > seen; });
        return c.events[seen++];
    };
    const std::pair changed{event_kind::children_changed, std::string{"/p"}};
    CHECK(next_event([&] { admin.create("/p/a"); }) == changed);
    CHECK(next_event([&] { admin.remove("/p/a"); }) == changed);
    CHECK(next_event([&] { admin.remove("/p"); }) == std::pair{event_kind::deleted, std::string{"/p"}});
    admin.create("/p");
    admin.create("/p/b");
    CHECK(c.sync("/") == outcome::ok);
    CHECK(c.events.size() == 3); // it was used up

    // Both kinds of watch on one node: each is told of its own, and a deletion once.
    CHECK(c.get("/p", true).result == outcome::ok);
    CHECK(next_event([&] { admin.create("/p/c"); }) == changed);
    CHECK(next_event([&] { admin.set("/p", "x"); }) == std::pair{event_kind::data_changed, std::string{"/p"}});
    CHECK(c.get("/p", true).result == outcome::ok);
    admin.remove("/p/b");
    admin.remove("/p/c");
    CHECK(c.sync("/") == outcome::ok);
    CHECK(c.children("/p", true).result == outcome::ok);
    const auto before = c.events.size();
    admin.remove("/p");
    CHECK(c.sync("/") == outcome::ok);
    REQUIRE(c.events.size() == before + 1);
    CHECK(c.events.back() == std::pair{event_kind::deleted, std::string{"/p"}});
    c.close();
}

TEST_CASE("exists with a watch: told of creation, change and deletion, also of what was missing; once each time")
{
    zookeeper_server server;
    proxy between{server.port()};
    admin_client admin{server.port()};
    bridge_client c{options_for(between.address())};
    c.wait_connected();
    std::size_t seen = 0;
    const auto next_event = [&](outcome expected, auto change) {
        CHECK(c.exists("/n", true).result == expected);
        CHECK(c.exists("/n", true).result == expected); // the same watch
        CHECK(watch_count(server.port()) == 1);
        change();
        c.run_until([&] { return c.events.size() > seen; });
        CHECK(c.events[seen].second == "/n");
        CHECK(watch_count(server.port()) == 0);
        return c.events[seen++].first;
    };
    CHECK(next_event(outcome::no_node, [&] { admin.create("/n"); }) == event_kind::created);
    CHECK(next_event(outcome::ok, [&] { admin.set("/n", "x"); }) == event_kind::data_changed);
    CHECK(next_event(outcome::ok, [&] { admin.remove("/n"); }) == event_kind::deleted);
    admin.create("/n");
    admin.remove("/n");
    CHECK(c.exists("/n").result == outcome::no_node); // and no watch

    // Taken back while the node is missing, also together with one of get().
    CHECK(c.exists("/n", true).result == outcome::no_node);
    CHECK(watches(server.port()).contains("/n"));
    CHECK(c.unwatch("/n") == outcome::ok);
    CHECK_FALSE(watches(server.port()).contains("/n"));
    CHECK(c.unwatch("/n") == outcome::no_watcher);
    admin.create("/n");
    CHECK(c.get("/n", true).result == outcome::ok);
    CHECK(c.exists("/n", true).result == outcome::ok);
    CHECK(c.children("/n", true).result == outcome::ok);
    CHECK(c.unwatch("/n") == outcome::ok);
    CHECK(c.unwatch("/n") == outcome::no_watcher);
    CHECK(watch_count(server.port()) == 0);
    admin.remove("/n");
    CHECK(c.sync("/") == outcome::ok);
    CHECK(c.events.size() == seen);

    // It ends with the connection.
    CHECK(c.exists("/n", true).result == outcome::no_node);
    between.cut();
    c.wait_connected(2);
    admin.create("/n");
    CHECK(c.sync("/") == outcome::ok);
    CHECK(c.events.size() == seen);
    CHECK(c.exists("/n", true).result == outcome::ok);
    admin.remove("/n");
    c.run_until([&] { return c.events.size() > seen; });
    CHECK(c.sync("/") == outcome::ok);
    CHECK(c.events.size() == seen + 1);
    CHECK(c.events.back() == std::pair{event_kind::deleted, std::string{"/n"}});
    CHECK(between.count(opcode::set_watches) == 0);
    c.close();
}

TEST_CASE("unwatch takes back both kinds of watch, here and on the server")
{
    zookeeper_server server;
    admin_client admin{server.port()};
    admin.create("/p");
    admin.create("/q");
    bridge_client c{options_for(server.address())};
    c.wait_connected();
    const auto watched = [&](const std::string& path) {
        const auto all = watches(server.port());
        return all.contains(path);
    };
    CHECK(c.unwatch("/p") == outcome::no_watcher);
    for (int kinds = 1; kinds < 4; ++kinds) {
        CAPTURE(kinds);
        if (kinds & 1)
            CHECK(c.get("/p", true).result == outcome::ok);
        if (kinds & 2)
            CHECK(c.children("/p", true).result == outcome::ok);
        CHECK(c.children("/q", true).result == outcome::ok);
        CHECK(c.unwatch("/p") == outcome::ok);
        CHECK_FALSE(watched("/p"));
        CHECK(c.unwatch("/p") == outcome::no_watcher);
        admin.create("/p/x");
        admin.set("/p", "x");
        admin.remove("/p/x");
        CHECK(c.sync("/") == outcome::ok);
        CHECK(c.events.empty());
    }
    admin.create("/q/x");
    c.run_until([&] { return !c.events.empty(); });
    CHECK(c.events[0] == std::pair{event_kind::children_changed, std::string{"/q"}});
    CHECK(watch_count(server.port()) == 0);
    c.close();
}

TEST_CASE("no watch outlives its epoch, whichever of a node's two was used up before")
{
    zookeeper_server server;
    proxy between{server.port()};
    admin_client admin{server.port()};
    for (const char* path : {"/both", "/data", "/children"})
        admin.create(path);
    bridge_client c{options_for(between.address())};
    c.wait_connected();
    for (const std::string path : {"/both", "/data", "/children"}) {
        CHECK(c.get(path, true).result == outcome::ok);
        CHECK(c.children(path, true).result == outcome::ok);
    }
    admin.set("/children", "x");
    admin.create("/data/x");
    c.run_until([&] { return c.events.size() == 2; });
    between.cut();
    c.wait_connected(2);
    for (const std::string path : {"/both", "/data", "/children"}) {
        admin.set(path, "y");
        admin.create(path + "/y");
    }
    CHECK(c.sync("/") == outcome::ok);
    CHECK(c.events.size() == 2);
    CHECK(between.count(opcode::set_watches) == 0);
    c.close();
}
