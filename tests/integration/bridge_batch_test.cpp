// sanitizers: address
// program: bridge
// Batches, over a real server: what `conformance/` does not compare.
#include "integration/bridge_client.hpp"
#include "support/four_letter_words.hpp"
#include "support/proxy.hpp"

using namespace zklock::test;

namespace {

using names = std::vector<std::string>;

/// A batch made while others are, which puts its answer into the client's story.
void send_batch(bridge_client& c, const std::vector<store::batch_write>& writes)
{
    c.store().batch(
        writes, [&c](const store::batch_reply& r) { c.tell("batch " + std::to_string(static_cast<int>(r.result))); });
}

} // namespace

TEST_CASE("the writes of a batch are done in their order, in one transaction")
{
    admin_client admin{server().port()};
    admin.create("/order");
    admin.create("/order/old");
    connected_bridge_client c{options_for(server().address())};

    const auto before = lease_clock::now();
    lease_clock::time_point sent{};
    std::vector<std::string> made;
    std::vector<store::node_stat> set;
    {
        std::string first = "/order/first", data = "one"; // need not outlive the call
        const std::vector<store::batch_write> writes{
            creates(first, node_kind::persistent, data),
            creates("/order/n-", node_kind::ephemeral_sequential, "two"),
            sets(first, "three", 0),
            removes("/order/old", 0),
            creates("/order/", node_kind::persistent_sequential),
            checks(first, 1),
            creates("/order/first/below", node_kind::ephemeral),
            sets("/", ""),
        };
        c.store().batch(writes, [&](const store::batch_reply& r) {
            CHECK(r.result == outcome::ok);
            sent = r.sent;
            made.assign(r.created.begin(), r.created.end());
            set.assign(r.set.begin(), r.set.end());
            c.tell("done");
        });
        std::fill(first.begin(), first.end(), '?');
        std::fill(data.begin(), data.end(), '?');
    }
    c.run_until([&] { return c.lines.back() == "done"; });
    // "/order/old" was the first.
    CHECK(made == names{"/order/first", "/order/n-0000000002", "/order/0000000003", "/order/first/below"});
    CHECK(sent >= before);
    CHECK(sent <= lease_clock::now());

    const auto first = c.get("/order/first");
    CHECK(first.data == "three");
    CHECK(first.stat.version == 1);
    CHECK(first.stat.mzxid == first.stat.czxid);
    REQUIRE(set.size() == 2);
    CHECK(set[0].version == 1);
    CHECK(set[0].mzxid == first.stat.mzxid);
    CHECK(set[0].modified == first.stat.modified);
    CHECK(set[0].data_length == 5);
    CHECK(set[1].data_length == 0);
    const auto second = c.get("/order/n-0000000002");
    CHECK(second.data == "two");
    CHECK(second.stat.czxid == first.stat.czxid);
    CHECK(second.stat.ephemeral_owner == c.session);
    CHECK(c.exists("/order/old").result == outcome::no_node);
    CHECK(c.exists("/order/0000000003").stat.ephemeral_owner == 0);
    c.close();
    CHECK(ephemeral_count(server().port()) == 0);
    expect_clean(server());
}

TEST_CASE("what the library or the server could not bear in a batch is refused before either sees it")
{
    connected_bridge_client c{options_for(server().address())};
    const auto refused = [&](const std::vector<store::batch_write>& writes) {
        return c.batch(writes).result == outcome::bad_arguments;
    };
    CHECK(refused({}));
    CHECK(refused({creates("/c", node_kind::container)}));
    CHECK(refused({creates("/a", node_kind::persistent), creates("/c", node_kind::container)}));
    CHECK(refused({creates("/ok", node_kind::persistent), creates("/c", node_kind::container)}));

    const std::string big(1'000'000, 'x');
    CHECK(refused({creates("/a", node_kind::persistent, big), creates("/b", node_kind::persistent, big)}));
    CHECK(refused({creates("/a", node_kind::persistent, std::string(0xfffff, 'x'))}));
    const std::vector<store::batch_write> many(60'000, removes("/some/node/that/is/not/there"));
    CHECK(refused(many));
    CHECK(c.exists("/ok").result == outcome::no_node);
    CHECK(c.disconnections == 0);
    CHECK(c.sync("/") == outcome::ok);
    close_clean(c);
}

TEST_CASE("the largest batch that is sent is one that the server takes")
{
    for (const auto access : {acl::open, acl::creator_all_or_read}) {
        auto options = options_for(server().address());
        options.auth = {{"digest", "ann:secret"}};
        options.access = access;
        connected_bridge_client c{options};
        // The largest that is not refused here, found by halving, goes through; one byte more would cost the
        // connection.
        std::size_t taken = 1'000'000, refused = 0xfffff;
        while (refused - taken > 1) {
            const auto size = (taken + refused) / 2;
            const std::string data(size, 'x');
            const std::vector<store::batch_write> writes{creates("/big", node_kind::ephemeral, data), removes("/big"),
                                                         checks("/"), sets("/", "")};
            const auto result = c.batch(writes).result;
            REQUIRE((result == outcome::ok || result == outcome::bad_arguments));
            (result == outcome::ok ? taken : refused) = size;
        }
        CHECK(c.disconnections == 0);
        CHECK(refused > 0xfffff - 300); // not far below what the server takes
        c.close();
    }
    expect_clean(server());
}

TEST_CASE("below a chroot, the paths of a batch go out and come back as the caller writes them")
{
    admin_client admin{server().port()};
    admin.create_all("/top/mine");
    auto options = options_for(server().address());
    options.chroot = "/top/mine";
    connected_bridge_client c{options};
    const auto made = c.batch({creates("/n-", node_kind::ephemeral_sequential), sets("/", "x"),
                               creates("/a", node_kind::persistent), creates("/a/b", node_kind::persistent)});
    CHECK(made.result == outcome::ok);
    CHECK(made.created == names{"/n-0000000000", "/a", "/a/b"});
    CHECK(admin.children("/top/mine") == names{"a", "n-0000000000"});
    CHECK(admin.get("/top/mine") == "x");
    const auto nameless = c.batch({creates("/", node_kind::ephemeral_sequential), removes("/0000000002")});
    CHECK(nameless.created == names{"/0000000002"}); // and not beside the chroot's node
    CHECK(c.children("/", true).result == outcome::ok);
    admin.create("/top/mine/other");
    c.run_until([&] { return c.events.size() == 1; });
    CHECK(c.events[0] == std::pair{event_kind::children_changed, std::string{"/"}});
    close_clean(c);
}

TEST_CASE("a batch that is cut off before or after the server acted is unknown, and was done or not")
{
    proxy between{server().port()};
    admin_client admin{server().port()};
    admin.create("/cut");
    connected_bridge_client c{options_for(between.address())};
    std::size_t times = 1;
    for (const auto at : {moment::request, moment::reply}) {
        between.on_next(opcode::multi, at, fate::cut);
        c.lines.clear();
        send_batch(c, {creates("/cut/a", node_kind::persistent), creates("/cut/n-", node_kind::ephemeral_sequential)});
        c.wait_connected(++times);
        CHECK(c.lines ==
              names{"batch " + std::to_string(static_cast<int>(outcome::unknown)), "disconnected", "connected"});
        CHECK(admin.children("/cut").size() == (at == moment::request ? 0 : 2));
    }
    // Made after a loss that was not told yet, and while there is no connection.
    between.cut();
    c.wait_disconnected(times);
    CHECK(c.batch({removes("/cut/a")}).result == outcome::unknown);
    c.wait_connected(++times);
    CHECK(admin.exists("/cut/a").has_value());
    close_clean(c);
}
