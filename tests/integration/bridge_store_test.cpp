// sanitizers: address
// program: bridge
// The store over a real server: every operation, watches, chroot, access lists.
#include "integration/bridge_client.hpp"
#include "support/admin_client.hpp"
#include "support/four_letter_words.hpp"

using namespace zklock::test;

TEST_CASE("every operation, with what its answer carries")
{
    connected_bridge_client c{options_for(server().address(), 5000ms)};
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
    CHECK(ephemeral_count(server().port()) == 0); // gone by the time that close is answered
}

TEST_CASE("a watch fires once, is taken back on the server too, and leaves nothing on a missing node")
{
    admin_client admin{server().port()};
    admin.create("/w");
    connected_bridge_client c{options_for(server().address())};

    CHECK(c.get("/none", true).result == outcome::no_node);
    CHECK(watch_count(server().port()) == 0);

    CHECK(c.get("/w", true).result == outcome::ok);
    CHECK(watch_count(server().port()) == 1);
    admin.set("/w", "1");
    c.run_until([&] { return c.events.size() == 1; });
    CHECK(c.events[0] == std::pair{event_kind::data_changed, std::string{"/w"}});
    admin.set("/w", "2");
    CHECK(c.get("/w").data == "2");
    CHECK(c.events.size() == 1);

    CHECK(c.get("/w", true).result == outcome::ok);
    CHECK(c.unwatch("/w") == outcome::ok);
    CHECK(watch_count(server().port()) == 0);
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
    CHECK(watch_count(server().port()) == 1);
    admin.remove("/w");
    c.run_until([&] { return c.events.size() == 2; });
    CHECK(c.events[1] == std::pair{event_kind::deleted, std::string{"/w"}});
    c.close();
}

TEST_CASE("below a chroot, paths go out and come back as the caller writes them")
{
    admin_client admin{server().port()};
    admin.create_all("/top/mine");
    auto options = options_for(server().address());
    options.chroot = "/top/mine";
    connected_bridge_client c{options};
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
    connected_bridge_client lost{options};
    CHECK(lost.get("/").result == outcome::no_node);
    lost.close();
}

TEST_CASE("the client's access list and its credentials")
{
    auto options = options_for(server().address());
    options.auth = {{"digest", "ann:secret"}};
    options.access = acl::creator_all;
    connected_bridge_client ann{options};
    CHECK(ann.create("/private", node_kind::persistent, "x").result == outcome::ok);
    options.access = acl::creator_all_or_read;
    connected_bridge_client reader{options};
    CHECK(reader.create("/readable", node_kind::container, "y").result == outcome::ok);

    connected_bridge_client other{options_for(server().address())};
    CHECK(other.get("/private").result == outcome::no_auth);
    CHECK(other.create("/private/c", node_kind::persistent).result == outcome::no_auth);
    CHECK(other.get("/readable").data == "y");
    CHECK(other.create("/readable/c", node_kind::persistent).result == outcome::no_auth);
    CHECK(ann.get("/private").data == "x");
    CHECK(ann.create("/private/c", node_kind::persistent).result == outcome::ok);

    auto nobody = options_for(server().address());
    nobody.access = acl::creator_all;
    connected_bridge_client anonymous{nobody};
    CHECK(anonymous.create("/x", node_kind::persistent).result == outcome::invalid_acl);
    CHECK(anonymous.said("refuses client_options::access, auth:cdrwa: ") != 0);
    for (auto* c : {&ann, &reader, &other, &anonymous})
        c->close();
}

TEST_CASE("access lists of single nodes: made, read and set, with every answer")
{
    const access_list for_both{digest_entry("ann", "secret"), digest_entry("bob", "secret", permission::read)};
    const auto as = [&](const char* who) {
        auto options = options_for(server().address());
        options.auth = {{"digest", who}};
        return options;
    };
    bridge_client ann{as("ann:secret")}, bob{as("bob:secret")}, carl{as("carl:secret")};
    for (auto* c : {&ann, &bob, &carl})
        c->wait_connected();

    CHECK(ann.create("/open", node_kind::persistent).result == outcome::ok);
    CHECK(ann.create("/shared", node_kind::persistent, "x", &for_both).result == outcome::ok);
    CHECK(bob.get("/shared").data == "x");
    CHECK(bob.set("/shared", "y").result == outcome::no_auth);
    CHECK(carl.get("/shared").result == outcome::no_auth);
    const access_list own{{"auth", "whatever it says"}, {"world", "anyone", permission::read}};
    const std::vector<store::batch_write> three = {creates("/first", node_kind::persistent, "1", &for_both),
                                                   creates("/second", node_kind::persistent, "2"),
                                                   creates("/third", node_kind::persistent, "3", &own)};
    CHECK(ann.batch(three).result == outcome::ok);
    CHECK(ann.batch({removes("/first"), removes("/second"), removes("/third")}).result == outcome::ok);
    CHECK(ann.batch(three).result == outcome::ok); // in the memory of the first
    CHECK(carl.get("/first").result == outcome::no_auth);
    CHECK(carl.get("/second").data == "2");
    CHECK(carl.get("/third").data == "3");
    CHECK(carl.set("/third", "4").result == outcome::no_auth);

    auto found = ann.get_acl("/open");
    CHECK(found.list == "world:anyone:cdrwa");
    CHECK(found.stat.acl_version == 0);
    CHECK(ann.get_acl("/third").list == "digest:ann:cdrwa, world:anyone:r");
    found = ann.get_acl("/shared");
    CHECK(found.list == "digest:ann:cdrwa, digest:bob:r");
    CHECK(found.stat.data_length == 1);
    CHECK(bob.get_acl("/shared").list == found.list);
    CHECK(carl.get_acl("/shared").result == outcome::no_auth);
    CHECK(carl.get_acl("/missing").result == outcome::no_node);

    CHECK(ann.set_acl("/missing", for_both) == outcome::no_node);
    CHECK(bob.set_acl("/shared", acl::open) == outcome::no_auth);
    CHECK(ann.set_acl("/shared", acl::open, 1) == outcome::bad_version);
    CHECK(ann.set_acl("/shared", acl::open, 0) == outcome::ok);
    CHECK(carl.get_acl("/shared").stat.acl_version == 1);
    CHECK(carl.get_acl("/shared").list == "world:anyone:cdrwa");
    CHECK(carl.get_acl("/shared").stat.version == 0);
    CHECK(carl.set_acl("/shared", acl::creator_all) == outcome::ok);
    CHECK(ann.get("/shared").result == outcome::no_auth);
    CHECK(carl.get_acl("/shared").list == "digest:carl:cdrwa");

    const access_list refused[] = {access_list(std::vector<access_entry>()),
                                   {{"world", "someone"}},
                                   {{"no-such-scheme", "x"}},
                                   {{"ip", "no address"}},
                                   {{"world", std::string("anyone\0", 7)}},
                                   {{std::string("world\0", 6), "anyone"}}};
    for (const access_list& list : refused) {
        CAPTURE(to_string(list));
        CHECK(ann.set_acl("/open", list) == outcome::invalid_acl);
        CHECK(ann.create("/refused", node_kind::persistent, {}, &list).result == outcome::invalid_acl);
        const auto one_of_two = ann.batch({creates("/good", node_kind::persistent), //
                                           creates("/refused", node_kind::persistent, {}, &list)});
        CHECK(one_of_two.result == outcome::invalid_acl);
    }
    for (const char* path : {"/good", "/refused"})
        CHECK(ann.exists(path).result == outcome::no_node);
    for (const char* path : {"", "x", "/x/", "/x//y"}) {
        CHECK(ann.get_acl(path).result == outcome::bad_arguments);
        CHECK(ann.set_acl(path, acl::open) == outcome::bad_arguments);
    }
    CHECK(ann.get_acl("/open").list == "world:anyone:cdrwa");
    CHECK(ann.said("client_options::access") == 0); // it is not the client's
    const access_list large(std::vector<access_entry>(64, {"digest", "somebody:" + std::string(20'000, 'x')}));
    CHECK(ann.batch({creates("/large", node_kind::persistent, {}, &large)}).result == outcome::bad_arguments);
    for (auto* c : {&ann, &bob, &carl}) {
        CHECK(c->disconnections == 0);
        c->close();
    }
}

TEST_CASE("credentials that the server refuses end everything but close")
{
    auto options = options_for(server().address());
    options.auth = {{"no-such-scheme", "x"}};
    bridge_client c{options};
    c.run_until([&] { return c.refusals == 1; });
    CHECK(c.lines == std::vector<std::string>{"connected, new", "disconnected", "authentication failed"});
    c.run_ready();
    CHECK(c.context().stopped());           // no work is left, not even a timer
    CHECK(c.sync("/") == outcome::unknown); // a caller's mistake by now, answered all the same
    c.close();
    CHECK(c.lines.back() == "authentication failed");
}

TEST_CASE("bad paths and data are answered, and cost nobody the connection unless the server drops it")
{
    connected_bridge_client c{options_for(server().address())};
    const std::string with_nul{"/a\0b", 4};
    for (const auto& path :
         {std::string{}, std::string{"a"}, std::string{"/a/"}, std::string{"//"}, std::string{"/a//b"},
          std::string{"/./a"}, std::string{"/a/.."}, std::string{"/a\x01"}, with_nul}) {
        CAPTURE(path);
        CHECK(c.create(path, node_kind::persistent).result == outcome::bad_arguments);
        CHECK(c.get(path, true).result == outcome::bad_arguments);
        CHECK(c.children(path).result == outcome::bad_arguments);
        CHECK(c.remove(path) == outcome::bad_arguments);
        CHECK(c.set(path, "x").result == outcome::bad_arguments);
        CHECK(c.exists(path).result == outcome::bad_arguments);
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

TEST_CASE("a store is destroyed with requests under way whose callers own another store, which goes with them")
{
    auto first = std::make_unique<bridge_client>(options_for(server().address()));
    first->wait_connected();
    auto second = std::make_shared<bridge_client>(options_for(server().address()));
    second->wait_connected();
    const std::weak_ptr<bridge_client> is_there = second;
    for (int i = 0; i < 2; ++i)
        first->store().sync("/", [owned = second](const auto&) { FAIL("it was answered"); });
    second.reset();
    CHECK_FALSE(is_there.expired());
    first->destroy_store();
    CHECK(is_there.expired());
}
