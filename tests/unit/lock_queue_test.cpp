// How contenders come, wait for each other and go.
#include "lock_queue_driver.hpp"

using namespace zklock::queue;
using namespace zklock::unit;

// --- lock queue ------------------------------------------------------------------------------------------------------

TEST_CASE("a first, uncontended acquire takes a create and a look at the parent, sent together; a release one delete")
{
    driver q;
    CHECK(q.next_to_create() == 0);
    q.hold().leave(1).does("remove 1 " + ours(1, 0));
    CHECK_FALSE(q.idle());
    q.removed(1).does("gone 1");
    CHECK(q.idle());
}

TEST_CASE("nothing is granted without coverage, without its token, or without a fresh lease")
{
    driver q;
    q.begin_with(1).created(1, ours(1, 5), 5).does("");
    q.parent_watched(2, 6, 105).does("read");
    q.children_read({ours(1, 5)}, 6, true).does("");
    q.token_known(1, 0);
    CHECK(q.act(false) == "");
    CHECK(q.act(true) == "granted 1");
}

TEST_CASE("the waiters of one client follow each other with no watch and no read")
{
    driver q;
    q.hold();
    for (int id = 2; id <= 100; ++id)
        q.join_and_send(id);
    q.does("");
    for (int id = 2; id <= 100; ++id)
        q.enqueued(id, id - 1);
    q.does("");
    for (int id = 1; id < 100; ++id) {
        q.leave(id);
        q.does("remove " + std::to_string(id) + " " + ours(id, id - 1) + " later, granted " + std::to_string(id + 1));
    }
}

TEST_CASE("whoever is deleted while it waits for us is not granted: its own node is watched")
{
    driver q;
    q.wait_behind_foreign().node_gone(ours(1, 1)).send_creates(); // at the tail
    q.does("read");
    q.enqueued(1, 5).children_read({foreign(0), ours(1, 5)}, 6, true);
    q.does("watch " + ours(1, 5)); // the foreign node's watch is still there
    q.node_gone(foreign(0)).does("");
    q.watched(ours(1, 5)).does("granted 1");
}

TEST_CASE("a foreign contender between two of ours is waited for")
{
    driver q;
    q.hold().join_and_send(2).does("");
    q.enqueued(2, 2).does("read");
    q.children_read({ours(1, 0), foreign(1), ours(2, 2)}, 3, true);
    q.does("watch " + ours(2, 2) + ", watch " + foreign(1));
    q.watched(ours(2, 2)).watched(foreign(1)).leave(1).does("remove 1 " + ours(1, 0)); // the foreign one waits for it
    q.node_gone(foreign(1)).does("granted 2"); // our own released node below does not count
}

TEST_CASE("children that are no contenders are ignored, foreign ones before us are not, whatever their prefix")
{
    driver q;
    q.begin_with(1).enqueued(1, 3).parent_watched(5, 4, 103).does("read");
    q.children_read({"config", "leaf-0000000000", "ab__lock__0000000002", ours(1, 3), "lock-0000000001"}, 5, true);
    q.does("watch " + ours(1, 3) + ", watch ab__lock__0000000002, watch lock-0000000001");
}

TEST_CASE("cancelled while its create is under way, a contender is deleted when the answer comes")
{
    driver q;
    q.begin_with(1).leave(1).does("");
    CHECK_FALSE(q.own().contended());
    q.enqueued(1, 0).does("remove 1 " + ours(1, 0));
    q.parent_shows_one(1).does("");
    q.removed(1).does("gone 1");
}

TEST_CASE("a refused create leaves nothing")
{
    driver q;
    q.begin_with(1).create_failed(1);
    CHECK(q.next_to_create() == 1);
    q.leave(1).does("gone 1");
}

TEST_CASE("a node whose token could not be learnt with others' is inspected before it is granted")
{
    driver q;
    q.hold().join_and_send(2).join_and_send(3).does("");
    q.created(2, ours(2, 1), 1).created(3, ours(3, 2), 2).leave(1).does("remove 1 " + ours(1, 0) + " later");
    q.token_missed(2).token_known(3, 0).does("inspect 2 " + ours(2, 1)); // the third waits for it
    q.inspected(2, ours(2, 1), true).does("");
    q.token_known(2, 0).does("granted 2");
    q.token_missed(2); // too late to matter
    q.token_missed(7).token_known(7, 0).does("");
}

TEST_CASE("a delete may wait only if the next one is ours, and nobody can be between")
{
    driver q;
    q.hold().queue_second();

    SUBCASE("the next one is ours") {
        q.leave(1).does("remove 1 " + ours(1, 0) + " later, granted 2");
    }
    SUBCASE("nobody is known behind it: others may be") {
        q.leave(2).does("remove 2 " + ours(2, 1));
    }
    SUBCASE("the next one is ours, but not covered: there may be another between") {
        q.leave(2).does("remove 2 " + ours(2, 1));
        q.join_and_send(3).enqueued(3, 5).leave(1).does("read, remove 1 " + ours(1, 0));
    }
    SUBCASE("a foreign one is the next") {
        q.join_and_send(3).enqueued(3, 3).does("");
        q.leave(1).does("read, remove 1 " + ours(1, 0) + " later, granted 2"); // the read is for the third
        q.children_read({ours(1, 0), ours(2, 1), foreign(2), ours(3, 3)}, 4, true);
        q.does("watch " + ours(3, 3) + ", watch " + foreign(2));
        q.leave(2).does("remove 2 " + ours(2, 1));
    }
}

TEST_CASE("many that give up in turn cost no more than each its delete")
{
    constexpr int waiters = 30'000;
    driver q;
    q.epoch_began();
    std::vector<std::string> names{foreign(0)};
    for (int i = 1; i <= waiters; ++i) {
        q.join_and_send(i);
        names.push_back(ours(i, i));
    }
    q.does("parent");
    for (int i = 1; i <= waiters; ++i)
        q.enqueued(i, i);
    q.parent_watched(waiters + 1, waiters + 1, driver::czxid_of(waiters)).does("read");
    q.children_read(names, waiters + 1, true);
    const auto begun = std::chrono::steady_clock::now();
    std::size_t removes = 0;
    for (int i = 1; i <= waiters; ++i) {
        q.leave(i);
        for (const action& a : q.next(true))
            removes += a.what == action::kind::remove;
    }
    CHECK(removes == waiters);
    // Going over all that left: many minutes.
    CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(30));
}

TEST_CASE("counts who contends and who has a node")
{
    driver q;
    CHECK_FALSE(q.own().contended());
    q.epoch_began().join(1, false);
    CHECK(q.own().contended());
    CHECK(q.own().with_node() == 0);
    q.send_creates();
    CHECK(q.own().with_node() != 0);
    q.enqueued(1, 0).leave(1);
    CHECK(q.own().with_node() == 0);
    CHECK_FALSE(q.own().contended());
}

// --- lock queue, one look --------------------------------------------------------------------------------------------

TEST_CASE("is granted when nobody is before it")
{
    driver q;
    q.epoch_began().join_and_send(1, true).does("parent");
    q.enqueued(1, 4).parent_shows_one(5).does("granted 1");
}

TEST_CASE("is refused when a foreign contender is before it")
{
    driver q;
    q.epoch_began().join_and_send(1, true).does("parent");
    q.enqueued(1, 1).parent_watched(2, 2, 101).does("read");
    q.children_read({foreign(0), ours(1, 1)}, 2, true).does("remove 1 " + ours(1, 1) + ", refused 1");
    q.removed(1).does("gone 1");
    CHECK(q.idle());
}

TEST_CASE("is refused behind one of ours, who may wait")
{
    driver q;
    q.hold().join_and_send(2, true).does("");
    q.enqueued(2, 1).does("remove 2 " + ours(2, 1) + ", refused 2");
}

TEST_CASE("sees from a list whether it is worth a write")
{
    driver q;
    q.hold();
    CHECK(q.known().busy({ours(1, 0)}));
    q.leave(1);
    CHECK_FALSE(q.known().busy({ours(1, 0)}));
    CHECK_FALSE(q.known().busy({"config"}));
    CHECK(q.known().busy({ours(1, 0), foreign(3)}));
}
