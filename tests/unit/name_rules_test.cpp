// Names that options add to those that all heed: a mark of our own, and names of other programs.
#include "lock_queue_driver.hpp"
#include "session_scene.hpp"

#include "queue/those_before.hpp"

using namespace zklock::queue;
using namespace zklock::unit;

namespace {

const std::string some_uuid = "0f1e2d3c-4b5a-4697-8899-aabbccddeeff";

/// Bare numbers, and a mark of another program.
const name_rules number_or_order({}, {"", "-order-"});

mutex_options heeding(std::vector<std::string> marks, std::string own = {})
{
    mutex_options o;
    o.mark = std::move(own);
    o.also_heeds = std::move(marks);
    return o;
}

} // namespace

// --- names that options add ------------------------------------------------------------------------------------------

TEST_CASE("a mark of our own stands between the uuid and the number")
{
    const name_rules rules("-stock-", {});
    const std::string curators = rules.prefix(naming::curator, contender_kind::mutex, some_uuid);
    CHECK(curators == "_c_0f1e2d3c-4b5a-4697-8899-aabbccddeeff-stock-");
    const std::string kazoos = rules.prefix(naming::kazoo, contender_kind::mutex, some_uuid);
    CHECK(kazoos == "0f1e2d3c4b5a46978899aabbccddeeff-stock-");
    CHECK(rules.sequence_of(curators + "0000000007") == 7);
    CHECK(rules.sequence_of(kazoos + "-2147483648") == std::int64_t{-2147483648});
    CHECK_FALSE(name_rules().sequence_of(curators + "0000000007"));
    CHECK(name_rules().prefix(naming::curator, contender_kind::mutex, some_uuid) == "_c_" + some_uuid + "-lock-");
}

TEST_CASE("a heeded mark is a mutex's, by its number, whatever comes before it; the usual names count as ever")
{
    const name_rules rules({}, {"-order-"});
    CHECK(rules.parse("ab-order-0000000012").value().kind == contender_kind::mutex);
    CHECK(rules.sequence_of("ab-order-0000000012") == 12);
    CHECK(rules.sequence_of("-order-0000000012") == 12);
    CHECK(rules.sequence_of("-order--2147483648") == std::int64_t{-2147483648});
    CHECK(rules.sequence_of("_c_ab-lock-0000000003") == 3);
    CHECK(rules.sequence_of("x-12-0000000003") == 3);
    CHECK(rules.parse("ab__READ__0000000001").value().kind == contender_kind::reader);
    CHECK(rules.parse("ab__WRIT__0000000001").value().kind == contender_kind::writer);
    CHECK_FALSE(rules.sequence_of("0000000012"));
    CHECK_FALSE(rules.sequence_of("order-000000012"));
    CHECK_FALSE(name_rules().sequence_of("ab-order-0000000012"));
    CHECK(rules.prefix(naming::curator, contender_kind::mutex, some_uuid) ==
          name_rules().prefix(naming::curator, contender_kind::mutex, some_uuid));
}

TEST_CASE("the empty mark stands for names that are the number alone")
{
    CHECK(number_or_order.sequence_of("0000000001") == 1);
    CHECK(number_or_order.sequence_of("-2147483648") == std::int64_t{-2147483648});
    CHECK(number_or_order.sequence_of("2147483647") == 2147483647);
    for (const std::string name : {"2147483648", "000000001", "10000000001", "x0000000001", "lease-0000000001",
                                   "--2147483648", "-2147483649", ""}) {
        CAPTURE(name);
        CHECK_FALSE(number_or_order.sequence_of(name));
    }
}

TEST_CASE("the first holds, whatever its name is")
{
    using names = std::vector<std::string>;
    const names all{"_c_a-lock-0000000004", "0000000003", "a-order-0000000002", "b-lock-0000000001x"};
    CHECK(number_or_order.holders_of(all) == names{"a-order-0000000002"});
    CHECK(name_rules({}, {""}).holders_of(all) == names{"0000000003"});
    CHECK(name_rules().holders_of(all) == names{"_c_a-lock-0000000004"});
}

TEST_CASE("the same marks are the same rules, in whatever order")
{
    CHECK(name_rules({}, {}) == name_rules());
    CHECK(name_rules({}, {"-order-", "", ""}) == number_or_order);
    CHECK_FALSE(name_rules({}, {""}) == number_or_order);
    CHECK_FALSE(number_or_order == name_rules());
    CHECK_FALSE(name_rules("-stock-", {"", "-order-"}) == number_or_order);
}

TEST_CASE("what a mark cannot be")
{
    for (const std::string mark : {"", "-stock-", "__lock__", "-lock-", "x", "stock-", "k-", "--x"})
        CHECK_FALSE(fault_of_mark(mark).has_value());
    for (const std::string mark : {"0", "stock-1", "v2"})
        CHECK(fault_of_mark(mark).value_or("").starts_with("without a digit"));
    for (const std::string mark : {"__READ__", "-__WRIT__", "a__rlock__", "-w__lock__"})
        CHECK(fault_of_mark(mark).value_or("").starts_with("another than those of readers"));
    for (const std::string mark : {"-", "--", "lock", "-lock", "k", "lock--", "2--", "stock--"}) {
        CAPTURE(mark);
        CHECK(fault_of_mark(mark).value_or("").starts_with("told from"));
    }
    // What WriteLock makes past 2^31 would be a number before it.
    CHECK(name_rules().sequence_of("x-12--2147483647") == -2147483647);
    CHECK(name_rules({}, {"2--"}).sequence_of("x-12--2147483647") == 2147483647);
    CHECK(are_ambiguous("stock", "-stock-"));
    CHECK(are_ambiguous("stock-", "-stock"));
    CHECK_FALSE(are_ambiguous("stock-", "-stock-"));
    CHECK_FALSE(are_ambiguous("", "stock-"));
}

// --- names that options add, in the queue ----------------------------------------------------------------------------

TEST_CASE("a contender with a heeded name is waited for by its number, and its end lets the next one in")
{
    driver q({}, sequence_scarce, number_or_order);
    q.begin_with(1).enqueued(1, 3).parent_watched(5, 4, 103).does("read");
    q.children_read({"notes", "0000000001", "x-order-0000000002", ours(1, 3), "0000000004"}, 5, true);
    q.does("watch " + ours(1, 3) + ", watch x-order-0000000002, watch 0000000001");
    q.watched(ours(1, 3)).watched("x-order-0000000002").watched("0000000001");
    CHECK(before(q.known(), 1, 9).count == 2);
    CHECK(before(q.known(), 1, 9).first == "0000000001");
    q.node_gone("0000000001").does("");
    q.node_gone("x-order-0000000002").does("granted 1");
}

TEST_CASE("without that option it is nobody")
{
    driver q;
    q.begin_with(1).enqueued(1, 3).parent_watched(2, 4, 103).does("read");
    q.children_read({"0000000001", ours(1, 3)}, 4, true).does("granted 1");
}

TEST_CASE("to whoever looks once they make the lock busy")
{
    const driver heeds({}, sequence_scarce, number_or_order);
    CHECK(heeds.known().busy({"0000000001"}));
    CHECK(heeds.known().busy({"a-order-0000000001"}));
    CHECK_FALSE(heeds.known().busy({"notes-0000000001"}));
    CHECK_FALSE(driver().known().busy({"0000000001"}));
}

TEST_CASE("a lost create is found by its mark")
{
    driver q({}, sequence_scarce, name_rules("-stock-", {}));
    q.epoch_began().join(1, false).create_sent(1, "_c_1-stock-").does("parent");
    q.create_unknown(1).contact_lost().parent_watch_failed().epoch_ended().epoch_began().does("sync, read");
    q.children_read({"_c_1-stock-0000000006"}, 7, true).does("inspect 1 _c_1-stock-0000000006");
}

TEST_CASE("where numbers are scarce, they are waited for, and are no strangers that may stay for ever")
{
    driver q({}, 3, number_or_order);
    q.begin_with(1).created(1, ours(1, 2), 2, driver::czxid_of(2));
    q.token_known(1, 4095).parent_shows_one(3).does("granted 1");
    q.join_and_send(2).does("");
    q.leave(1).does("remove 1 " + ours(1, 2));
    q.removed(1).does("remove parent, gone 1");
    CHECK(q.may_remove_parent(5));
    q.parent_occupied().does("read");
    q.children_read({"0000000003", "b-order-0000000004"}, 5, true).does("watch b-order-0000000004");
    q.watched("b-order-0000000004").node_gone("b-order-0000000004").does("remove parent");
}

// --- names that options add, in a client -----------------------------------------------------------------------------

TEST_CASE("an acquire has its own mark, waits for heeded names, and is told of them")
{
    connected_scene s;
    const auto a = s.acquire("/p", heeding({""}, "-stock-"));
    const std::string own = s.node(1, 1, "stock-");
    asked(s).to("create /p/" + prefix(1, "stock-")).number(101, 1).to("watch /p").show(two_children(101));
    asked(s).to("children /p").list({"0000000000", own});
    CHECK_FALSE(a->ended);
    const wait_report told = a->handle->describe_wait();
    REQUIRE(told.held_by);
    CHECK(told.held_by->node == "/p/0000000000");
    CHECK(told.held_by->sequence == 0);
    CHECK(told.before_us == 1);
}

TEST_CASE("lists and requests to let go")
{
    connected_scene s;
    const auto kind = recipes::list_kind::queue_named(name_rules("-stock-", {""}));
    std::vector<zklock::contender> found;
    const auto listed = recipes::list_contenders(
        *s.session, "/p", [&](error_code, std::vector<zklock::contender> all) { found = std::move(all); }, kind);
    asked(s).to("children /p").list({"notes", "a-stock-0000000007", "0000000003", "b-lock-0000000005"});
    asked(s).to("get /p/0000000003").show(9, "sale");
    asked(s).to("get /p/b-lock-0000000005").show(9, "b");
    asked(s).to("get /p/a-stock-0000000007").show(9, "a");
    REQUIRE(found.size() == 3);
    CHECK(found[0].sequence == 3);
    CHECK(found[2].node == "/p/a-stock-0000000007");

    std::optional<error_code> ended;
    const auto told = [&](error_code ec, std::size_t) { ended = ec; };
    const auto refused = recipes::revoke(*s.session, "/p", "/p/0000000003", told);
    s.clock.run();
    CHECK(ended == errc::invalid_path); // who does not heed it takes it for anybody's node
    const auto one = recipes::revoke(*s.session, "/p", "/p/0000000003", told, kind);
    CHECK(s.servers.pending() == "set /p/0000000003");
}

TEST_CASE("locks of one client on one path have to agree on them")
{
    const recipes::path_options usual({}, contender_kind::mutex);
    const recipes::path_options bare(heeding({""}), contender_kind::mutex);
    CHECK_FALSE(bare == usual);
    CHECK(bare == recipes::path_options(heeding({"", ""}), contender_kind::mutex));
    CHECK_FALSE(recipes::path_options(heeding({}, "-stock-"), contender_kind::mutex) == usual);
}
