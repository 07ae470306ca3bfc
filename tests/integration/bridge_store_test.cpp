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
