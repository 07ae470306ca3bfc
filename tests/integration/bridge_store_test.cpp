// The store over a real server: every operation, watches, chroot, access lists.
#include "integration/bridge_client.hpp"
#include "support/admin_client.hpp"
#include "support/expect_clean.hpp"
#include "support/four_letter_words.hpp"
#include "support/zookeeper_server.hpp"
#include "zklock/errc.hpp"

#include <algorithm>

using namespace zklock;
using namespace zklock::test;

TEST_CASE("every operation, with what its answer carries")
{
    zookeeper_server server;
    auto options = options_for(server.address());
    options.session_timeout = 5000ms;
    bridge_client c{options};
    c.wait_connected();
    CHECK(c.session != 0);
    CHECK(c.was_renewed);
    CHECK(c.session_timeout == 5000ms);

    auto before = lease_clock::now();
    auto parent = c.create("/p", node_kind::persistent, "data");
    CHECK(parent.result == outcome::ok);
    CHECK(parent.path == "/p");
    CHECK(parent.stat.czxid > 0);
    CHECK(parent.sent >= before);
    CHECK(parent.sent <= lease_clock::now());
    CHECK(c.create("/p", node_kind::persistent).result == outcome::node_exists);

    auto first = c.create("/p/n-", node_kind::ephemeral_sequential);
    CHECK(first.path == "/p/n-0000000000");
    CHECK(first.stat.czxid > parent.stat.czxid);
    CHECK(first.stat.ephemeral_owner == c.session);
    CHECK(c.create("/p/n-", node_kind::persistent_sequential).path == "/p/n-0000000001");
    CHECK(c.create("/p/e", node_kind::ephemeral).result == outcome::ok);
    CHECK(c.create("/p/e/x", node_kind::persistent).result == outcome::no_child_allowed);
    auto container = c.create("/p/c", node_kind::container);
    CHECK(container.result == outcome::ok);
    CHECK(container.path == "/p/c");
    CHECK(c.create("/none/x", node_kind::persistent).result == outcome::no_node);

    auto node = c.get("/p");
    CHECK(node.result == outcome::ok);
    CHECK(node.data == "data");
    CHECK(node.stat.num_children == 4);
    CHECK(node.stat.data_length == 4);
    CHECK(node.stat.czxid == parent.stat.czxid);
    CHECK(c.get("/none").result == outcome::no_node);
    CHECK(c.get("/p/c").data.empty());

    auto all = c.children("/p");
    std::sort(all.names.begin(), all.names.end());
    CHECK(all.names == std::vector<std::string>{"c", "e", "n-0000000000", "n-0000000001"});
    CHECK(all.stat.cversion == 4);
    CHECK(c.children("/none").result == outcome::no_node);

    CHECK(c.remove("/p") == outcome::not_empty);
    CHECK(c.remove("/none") == outcome::no_node);
    CHECK(c.remove("/p/n-0000000001") == outcome::ok);
    CHECK(c.sync("/p") == outcome::ok);
    CHECK(c.sync("/") == outcome::ok);
    auto top = c.children("/");
    CHECK(std::find(top.names.begin(), top.names.end(), "p") != top.names.end());

    c.close();
    CHECK(c.open == false);
    CHECK(ephemeral_count(server.port()) == 0); // gone by the time that close is answered
}

TEST_CASE("a watch fires once, is taken back on the server too, and leaves nothing on a missing node")
{
    zookeeper_server server;
    admin_client admin{server.port()};
    admin.create("/w");
    bridge_client c{options_for(server.address())};
    c.wait_connected();

    CHECK(c.get("/none", true).result == outcome::no_node);
    CHECK(watch_count(server.port()) == 0);

    CHECK(c.get("/w", true).result == outcome::ok);
    CHECK(watch_count(server.port()) == 1);
    admin.set("/w", "1");
    c.run_until([&] { return c.events.size() == 1; });
    CHECK(c.events[0] == std::pair{event_kind::data_changed, std::string{"/w"}});
    admin.set("/w", "2");
    CHECK(c.get("/w").data == "2");
    CHECK(c.events.size() == 1);

    CHECK(c.get("/w", true).result == outcome::ok);
    CHECK(c.unwatch("/w") == outcome::ok);
    CHECK(watch_count(server.port()) == 0);
    CHECK(c.unwatch("/w") == outcome::no_watcher);

    // Taken back before the answer that armed it, then armed again.
    std::vector<outcome> answers;
    for (int i = 0; i < 2; ++i) {
        c.store().get("/w", true, [&](const store::get_reply& r) { answers.push_back(r.result); });
        c.store().unwatch("/w", [&](const store::reply& r) { answers.push_back(r.result); });
    }
    c.store().get("/w", true, [&](const store::get_reply& r) { answers.push_back(r.result); });
    c.run_until([&] { return answers.size() == 5; });
    CHECK(answers == std::vector<outcome>(5, outcome::ok));
    CHECK(watch_count(server.port()) == 1);
    admin.remove("/w");
    c.run_until([&] { return c.events.size() == 2; });
    CHECK(c.events[1] == std::pair{event_kind::deleted, std::string{"/w"}});
    c.close();
}

TEST_CASE("answers and events come in the order of the server")
{
    zookeeper_server server;
    bridge_client c{options_for(server.address())};
    c.wait_connected();
    CHECK(c.create("/o", node_kind::persistent).result == outcome::ok);
    CHECK(c.create("/o/a", node_kind::persistent).result == outcome::ok);
    CHECK(c.get("/o/a", true).result == outcome::ok);
    c.lines.clear();
    c.store().sync("/o", [&](const store::reply&) { c.tell("sync"); });
    c.store().remove("/o/a", store::any_version, [&](const store::reply&) { c.tell("remove"); });
    c.store().children("/o", false, [&](const store::children_reply& r) {
        c.tell("children " + std::to_string(r.names->size()));
    });
    c.run_until([&] { return c.lines.size() == 4; });
    CHECK(c.lines == std::vector<std::string>{"sync", "event 1 /o/a", "remove", "children 0"});
    c.close();
}

TEST_CASE("below a chroot, paths go out and come back as the caller writes them")
{
    zookeeper_server server;
    admin_client admin{server.port()};
    admin.create_all("/top/mine");
    auto options = options_for(server.address());
    options.chroot = "/top/mine";
    bridge_client c{options};
    c.wait_connected();
    CHECK(c.create("/n-", node_kind::ephemeral_sequential).path == "/n-0000000000");
    CHECK(admin.exists("/top/mine/n-0000000000").has_value());
    CHECK(c.children("/").names == std::vector<std::string>{"n-0000000000"});
    CHECK(c.sync("/") == outcome::ok);
    CHECK(c.get("/").stat.num_children == 1);
    CHECK(c.get("/n-0000000000", true).result == outcome::ok);
    CHECK(c.get("/", true).result == outcome::ok);
    admin.remove("/top/mine/n-0000000000");
    admin.set("/top/mine", "x");
    c.run_until([&] { return c.events.size() == 2; });
    CHECK(c.events[0] == std::pair{event_kind::deleted, std::string{"/n-0000000000"}});
    CHECK(c.events[1] == std::pair{event_kind::data_changed, std::string{"/"}});
    CHECK(c.create("/", node_kind::ephemeral_sequential).path == "/0000000001");
    CHECK(admin.exists("/top/mine/0000000001").has_value());
    CHECK(admin.children("/top") == std::vector<std::string>{"mine"});
    c.close();

    options.chroot = "/not/there";
    bridge_client lost{options};
    lost.wait_connected();
    CHECK(lost.get("/").result == outcome::no_node);
    lost.close();
}

TEST_CASE("the client's access list and its credentials")
{
    zookeeper_server server;
    auto options = options_for(server.address());
    options.auth = {{"digest", "ann:secret"}};
    options.access = acl::creator_all;
    bridge_client ann{options};
    ann.wait_connected();
    CHECK(ann.create("/private", node_kind::persistent, "x").result == outcome::ok);
    options.access = acl::creator_all_or_read;
    bridge_client reader{options};
    reader.wait_connected();
    CHECK(reader.create("/readable", node_kind::container, "y").result == outcome::ok);

    bridge_client other{options_for(server.address())};
    other.wait_connected();
    CHECK(other.get("/private").result == outcome::no_auth);
    CHECK(other.create("/private/c", node_kind::persistent).result == outcome::no_auth);
    CHECK(other.get("/readable").data == "y");
    CHECK(other.create("/readable/c", node_kind::persistent).result == outcome::no_auth);
    CHECK(ann.get("/private").data == "x");
    CHECK(ann.create("/private/c", node_kind::persistent).result == outcome::ok);

    auto nobody = options_for(server.address());
    nobody.access = acl::creator_all;
    bridge_client anonymous{nobody};
    anonymous.wait_connected();
    CHECK(anonymous.create("/x", node_kind::persistent).result == outcome::invalid_acl);
    for (auto* c : {&ann, &reader, &other, &anonymous})
        c->close();
}

TEST_CASE("credentials that the server refuses end everything but close")
{
    zookeeper_server server;
    auto options = options_for(server.address());
    options.auth = {{"no-such-scheme", "x"}};
    bridge_client c{options};
    c.run_until([&] { return c.refusals == 1; });
    CHECK(c.lines == std::vector<std::string>{"connected, new", "disconnected", "authentication failed"});
    c.run_ready();
    CHECK(c.context().stopped()); // no work is left, not even a timer
    CHECK(c.sync("/") == outcome::unknown); // a caller's mistake by now, answered all the same
    c.close();
    CHECK(c.lines.back() == "authentication failed");
}

TEST_CASE("bad paths and data are answered, and cost nobody the connection unless the server drops it")
{
    zookeeper_server server;
    bridge_client c{options_for(server.address())};
    c.wait_connected();
    const std::string with_nul{"/a\0b", 4};
    for (const auto& path : {std::string{}, std::string{"a"}, std::string{"/a/"}, std::string{"//"},
                             std::string{"/a//b"},
                             std::string{"/./a"}, std::string{"/a/.."}, std::string{"/a\x01"}, with_nul}) {
        CAPTURE(path);
        CHECK(c.create(path, node_kind::persistent).result == outcome::bad_arguments);
        CHECK(c.get(path, true).result == outcome::bad_arguments);
        CHECK(c.children(path).result == outcome::bad_arguments);
        CHECK(c.remove(path) == outcome::bad_arguments);
        CHECK(c.unwatch(path) == outcome::bad_arguments);
        CHECK(c.sync(path) == outcome::bad_arguments);
    }
    CHECK(c.disconnections == 0);
    CHECK(c.create("/big", node_kind::persistent, std::string(3'000'000, 'x')).result == outcome::unknown);
    c.wait_connected(2);
    CHECK_FALSE(c.was_renewed);
    CHECK(c.get("/big").result == outcome::no_node);
    c.close();
}
