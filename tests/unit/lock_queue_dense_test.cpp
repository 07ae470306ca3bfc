// What the numbers alone tell: the dense view.
#include "lock_queue_driver.hpp"

using namespace zklock::queue;
using namespace zklock::unit;

TEST_CASE("a look at the parent shows that the first is alone")
{
    driver q;
    q.begin_with(1).enqueued(1, 5).does(""); // of two requests one is enough, if it is the right one

    SUBCASE("one child, and nothing has changed since ours came") {
        q.parent_watched(1, 6, 105).does("granted 1");
    }
    SUBCASE("one child, but another change since: ours may be gone, and the child be another") {
        q.parent_watched(1, 6, 106).does("read");
        q.children_read({ours(1, 5)}, 6, true).does("granted 1");
    }
    SUBCASE("one child, which is younger than ours") {
        q.parent_watched(1, 7, 105).does("read");
    }
    SUBCASE("two children") {
        q.parent_watched(2, 6, 105).does("read");
    }
    SUBCASE("none: ours is gone, and is made again") {
        q.parent_watched(0, 6, 106).does("");
        CHECK(q.next_to_create() == 1);
        q.send_creates().does("");
        q.enqueued(1, 6).does("granted 1");
    }
    SUBCASE("the watch could not be set: asked for again") {
        q.parent_watch_failed().does("parent");
    }
    SUBCASE("there is no parent any more: nothing is left") {
        q.parent_absent();
        CHECK(q.next_to_create() == 1);
        CHECK_FALSE(q.known().parent().watched());
    }
}

TEST_CASE("made together with others as the very first: alone once the transaction is known, for the next one's sake")
{
    driver q;
    q.begin_with(1).created(1, ours(1, 0), 0);
    q.parent_watched(1, 1, 77).does(""); // nothing can be lower, but there is no token yet
    q.token_known(1, 0, 77).does("granted 1");
    q.join_and_send(2).does(""); // its number will tell
    q.enqueued(2, 1).leave(1).does("remove 1 " + ours(1, 0) + " later, granted 2");
}

TEST_CASE("whose czxid is not known, because it was created with others, is not taken for alone")
{
    driver q;
    q.begin_with(1).created(1, ours(1, 5), 5).token_known(1, 0).parent_watched(1, 6, 105).does("read");
}

TEST_CASE("a parent that had no child before ours was created makes the first number count")
{
    driver q;
    q.begin_with(1).parent_watched(0, 7, 50); // the create was slower
    q.does("");
    q.enqueued(1, 7).does("granted 1");
}

TEST_CASE("the next acquire is one create, and its number the grant")
{
    driver q;
    q.hold(4).leave(1).is_deleted(1, ours(1, 4));
    CHECK(q.known().parent().watched());
    for (int id = 2; id < 5; ++id) {
        q.join_and_send(id).does("");
        q.enqueued(id, id + 3).does("granted " + std::to_string(id));
        q.leave(id).does("remove " + std::to_string(id) + " " + ours(id, id + 3));
        q.removed(id).does("gone " + std::to_string(id));
    }
}

TEST_CASE("a cancelled create counts on, too")
{
    driver q;
    q.hold().join_and_send(2).leave(2).join_and_send(3).does("");
    q.enqueued(2, 1).enqueued(3, 2);
    q.leave(1).does("remove 2 " + ours(2, 1) + " later, remove 1 " + ours(1, 0) + " later, granted 3");
}

TEST_CASE("a gap means nodes that are not known: one read for all that are behind it")
{
    driver q;
    q.hold();
    for (contender_id id = 2; id <= 4; ++id)
        q.join_and_send(id);
    q.does("");
    q.enqueued(2, 2).does("read");
    q.enqueued(3, 3).enqueued(4, 4).does("");
    q.children_read({ours(1, 0), ours(2, 2), ours(3, 3), ours(4, 4)}, 5, true); // who was between has left
    q.does("");
    for (int id = 1; id < 4; ++id) {
        q.leave(id);
        q.does("remove " + std::to_string(id) + " " + ours(id, id == 1 ? 0 : id) + " later, granted " +
               std::to_string(id + 1));
    }
    q.join_and_send(5); // and the numbers count again
    q.does("");
    q.enqueued(5, 5).leave(4).does("remove 4 " + ours(4, 4) + " later, granted 5");
}

TEST_CASE("a read that was sent before the create covers nothing")
{
    driver q;
    q.hold().join_and_send(2).does("");
    q.enqueued(2, 2).does("read");
    q.join_and_send(3).children_read({ours(1, 0), ours(2, 2)}, 3, true).does("");
    q.enqueued(3, 4).leave(1).leave(2).does("read, remove 1 " + ours(1, 0) + ", remove 2 " + ours(2, 2));
    q.children_read({foreign(3), ours(3, 4)}, 5, true);
    q.does("watch " + ours(3, 4) + ", watch " + foreign(3) + ", gone 1, gone 2");
}

TEST_CASE("a create that is sent again is later than the reads sent since it went first")
{
    driver q;
    q.wait_behind_foreign().leave(1).does("remove 1 " + ours(1, 1) + ", unwatch " + foreign(0));
    q.removed(1).unwatched(foreign(0)).node_gone(ours(1, 1)).does("gone 1");
    q.join_and_send(2).does("read");     // sent with the create, because there was company
    q.create_sent_again(2).does("read"); // that one does not serve
    q.children_read({foreign(0)}, 2, true).enqueued(2, 3).does("");
    q.children_read({foreign(0), foreign(2), ours(2, 3)}, 4, true);
    q.does("watch " + ours(2, 3) + ", watch " + foreign(2) + ", watch " + foreign(0));
}

TEST_CASE("where others were met the last time, the read goes with the create")
{
    driver q;
    q.wait_behind_foreign().node_gone(foreign(0)).does("granted 1");
    q.leave(1).is_deleted(1, ours(1, 1));
    q.join_and_send(2).does("read");
    q.enqueued(2, 2); // but nobody has come
    q.does("granted 2");
    q.children_read({ours(2, 2)}, 3, true).does("");
    q.leave(2).removed(2).does("gone 2");
    q.join_and_send(3).does("");
}

TEST_CASE("nothing is lower than number 0, whatever is known of the parent")
{
    driver q;
    q.begin_with(1).enqueued(1, 0).does("granted 1");
    q.parent_watched(3, 3, 200).does("");
    q.join_and_send(2).does("read"); // others have come behind, but it is not known which
}

TEST_CASE("numbers that begin again: the parent is another, and all known nodes are gone")
{
    driver q;
    q.hold().queue_second();

    SUBCASE("with a number that one of ours had; its watch was used up before") {
        q.parent_changed().join_and_send(3).enqueued(3, 1).send_creates().does("parent, lost 1");
        q.enqueued(2, 2).parent_watched(3, 3, 102).does("read");
        q.children_read({foreign(0), ours(3, 1), ours(2, 2)}, 3, true);
        q.does("watch " + ours(3, 1) + ", watch " + foreign(0));
    }
    SUBCASE("with number 0, which needs no more to be granted") {
        q.parent_changed().join_and_send(3).enqueued(3, 0).does("lost 1, granted 3");
        CHECK(q.next_to_create() == 2);
    }
    SUBCASE("with a number that only others can have had") {
        q.join_and_send(3).enqueued(3, 4).leave(2).does("read, remove 2 " + ours(2, 1));
        q.children_read({ours(1, 0), foreign(2), foreign(3), ours(3, 4), foreign(5)}, 6, true);
        q.leave(3).does("remove 3 " + ours(3, 4) + ", gone 2");
        q.removed(3).does("gone 3");
        q.join_and_send(4).does("read");
        q.enqueued(4, 3);
        CHECK(q.act().ends_with("lost 1"));
    }
}

TEST_CASE("no number follows the largest: the next ones are negative")
{
    constexpr std::int32_t largest = 2'147'483'647;
    driver q;
    q.epoch_began().join_and_send(1).join_and_send(2).does("parent");
    q.parent_watched(0, largest, 50).leave(1).enqueued(1, largest).is_deleted(1, ours(1, largest));
    const std::string node = "_c_2-lock--2147483648";
    q.created(2, node, -2'147'483'647 - 1, 101).does("read");
    q.leave(2).does("remove 2 " + node);
}
