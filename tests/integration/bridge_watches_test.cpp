// sanitizers: address
// program: bridge
// Watches over a real server: what is left of them there.
#include "integration/bridge_client.hpp"
#include "support/four_letter_words.hpp"
#include "support/proxy.hpp"

using namespace zklock::test;

TEST_CASE("exists with a watch: told of creation, change and deletion, also of what was missing; once each time")
{
    zookeeper_server server;
    proxy between{server.port()};
    admin_client admin{server.port()};
    connected_bridge_client c{options_for(between.address())};
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
    CHECK(c.children("/zookeeper", true).result == outcome::ok);
    CHECK(watches(server.port()).empty()); // the server does not tell where it is, and so it counts
    CHECK_THROWS(expect_clean(server, {}, 50ms));
    CHECK(c.unwatch("/zookeeper") == outcome::ok);
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
