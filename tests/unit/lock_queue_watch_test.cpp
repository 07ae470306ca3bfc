// Waiting for others: whose end is watched, and what is known from it.
#include "lock_queue_driver.hpp"

using namespace zklock::queue;
using namespace zklock::unit;

namespace {

/// Contender 1 waits with number 9 behind foreign nodes, all it asked for confirmed.
struct behind_many : driver {
    explicit behind_many(std::vector<std::string> others, const std::string& expected)
    {
        epoch_began();
        join_and_send(1).does("parent");
        enqueued(1, 9);
        parent_watched(static_cast<int>(others.size()) + 1, 10, czxid_of(9)).does("read");
        others.push_back(ours(1, 9));
        children_read(others, 10, true).does("watch " + ours(1, 9) + expected);
        watched(ours(1, 9));
        for (const std::string& node : others)
            watched(node);
        does("");
    }
};

} // namespace

TEST_CASE("the predecessor's deletion is the grant when it was the only one")
{
    driver q;
    q.wait_behind_foreign().node_gone(foreign(0)).does("granted 1");
}

TEST_CASE("the two before us are watched: whatever their order of going, no read stands before the grant")
{
    behind_many q({foreign(3), foreign(5)}, ", watch " + foreign(5) + ", watch " + foreign(3));
    SUBCASE("the further one first") {
        q.node_gone(foreign(3)).does("");
        q.node_gone(foreign(5));
    }
    SUBCASE("the nearer one first") {
        q.node_gone(foreign(5)).does("");
        q.node_gone(foreign(3));
    }
    q.does("granted 1");
}

TEST_CASE("when the further one was not the first, a read looks who is left while the nearer one still lives")
{
    behind_many q({foreign(1), foreign(2), foreign(3), foreign(5)}, ", watch " + foreign(5) + ", watch " + foreign(3));
    q.node_gone(foreign(3)).does("read");
    q.does("");

    SUBCASE("nobody: then the predecessor's deletion is the grant") {
        q.children_read({foreign(5), ours(1, 9), foreign(12)}, 13, true).does("");
        q.node_gone(foreign(5)).does("granted 1");
    }
    SUBCASE("somebody: that one is watched from now on") {
        q.children_read({foreign(1), foreign(5), ours(1, 9)}, 10, true).does("watch " + foreign(1));
        q.node_gone(foreign(1)); // already gone when the watch was to be set
        q.does("");
        q.node_gone(foreign(5)).does("granted 1");
    }
    SUBCASE("the predecessor goes before the answer: nothing is granted on what was known") {
        q.node_gone(foreign(5)).does("read"); // the first read may have been answered before that
        q.children_read({foreign(1), foreign(5), ours(1, 9)}, 10, true).does("");
        q.children_read({foreign(1), ours(1, 9)}, 10, true).does("watch " + foreign(1));
    }
}

TEST_CASE("when the predecessor goes first, one read tells who is before us now")
{
    behind_many q({foreign(1), foreign(3), foreign(5)}, ", watch " + foreign(5) + ", watch " + foreign(3));
    q.node_gone(foreign(5)).does("read");
    q.children_read({foreign(1), foreign(3), ours(1, 9)}, 10, true).does("watch " + foreign(1));
    q.watched(foreign(1)).node_gone(foreign(3)).does("");
    q.node_gone(foreign(1)).does("granted 1");
}

TEST_CASE("an event other than deleted only arms the watch again")
{
    driver q;
    q.wait_behind_foreign().watch_failed(foreign(0)).does("watch " + foreign(0));
    q.watched(foreign(0)).watch_failed(ours(1, 1));
    q.node_gone(foreign(0)).does("watch " + ours(1, 1)); // not granted before that is confirmed
    q.watched(ours(1, 1)).does("granted 1");
}

TEST_CASE("a cancelled waiter's watch is taken over by the next, or taken off")
{
    driver q;
    q.wait_behind_foreign().join_and_send(2).does("");
    q.enqueued(2, 2).leave(1).does("watch " + ours(2, 2) + ", remove 1 " + ours(1, 1) + " later");
    q.removed(1).watched(ours(2, 2)).does("gone 1");
    q.leave(2).does("remove 2 " + ours(2, 2) + ", unwatch " + foreign(0));
    q.removed(2).does("gone 2");
    CHECK_FALSE(q.idle());
    q.unwatched(foreign(0));
    CHECK(q.idle());
}

TEST_CASE("both watches are taken off when nobody waits any more, and the further one when it is not needed")
{
    behind_many q({foreign(3), foreign(5)}, ", watch " + foreign(5) + ", watch " + foreign(3));
    SUBCASE("nobody waits") {
        q.leave(1).does("remove 1 " + ours(1, 9) + ", unwatch " + foreign(3) + ", unwatch " + foreign(5));
    }
    SUBCASE("another of ours comes to wait behind a nearer one") {
        q.join_and_send(2).enqueued(2, 12).does("");
        q.leave(1).does("read, remove 1 " + ours(1, 9)); // what stays needed is not known yet
        q.children_read({foreign(3), foreign(5), foreign(11), ours(2, 12)}, 13, true);
        q.does("watch " + ours(2, 12) + ", watch " + foreign(11) + ", unwatch " + foreign(3) + ", gone 1");
    }
}

TEST_CASE("a watch wanted again while it is being taken off is armed again after that")
{
    driver q;
    q.wait_behind_foreign().leave(1).does("remove 1 " + ours(1, 1) + ", unwatch " + foreign(0));
    q.join_and_send(2).does("read"); // company was met here
    q.enqueued(2, 2).does("watch " + ours(2, 2));
    q.children_read({foreign(0), ours(2, 2)}, 3, true).does("gone 1");
    q.unwatched(foreign(0)).does("watch " + foreign(0));
}

TEST_CASE("a long holder's node is watched, in each epoch, and its deletion by others is a loss")
{
    driver q;
    q.hold().hold_on(1).does("watch " + ours(1, 0));
    q.watched(ours(1, 0)).epoch_ended().epoch_began().does("watch " + ours(1, 0));
    q.node_gone(ours(1, 0)).does("lost 1");
    CHECK(q.idle());
}

TEST_CASE("after others have deleted one of ours, the next is granted only when it has seen its own")
{
    driver q;
    q.hold().queue_second().hold_on(1).does("watch " + ours(1, 0));
    q.node_gone(ours(1, 0)).does("watch " + ours(2, 1) + ", lost 1");
    q.watched(ours(2, 1)).does("granted 2");
}

TEST_CASE("a node of ours that a list no longer shows is gone")
{
    driver q;
    q.hold().join_and_send(2).does("");
    q.enqueued(2, 3).does("read");
    q.children_read({ours(2, 3)}, 4, true).does("lost 1, granted 2");
}
