// Lost connections, sessions and leases.
#include "lock_queue_driver.hpp"

using namespace zklock::queue;
using namespace zklock::unit;

// --- lock queue, connection lost -------------------------------------------------------------------------------------

TEST_CASE("after the first lost answer nothing is sent before the next epoch")
{
    driver q;
    q.hold().join_and_send(2).does("");
    q.contact_lost().create_unknown(2).does("");
    q.join(3, false).leave(1);
    CHECK(q.next_to_create() == 0);
    q.does("");
    q.epoch_ended().epoch_began().does("sync, read, remove 1 " + ours(1, 0));
}

TEST_CASE("a lost create is looked for after a sync, before any other create")
{
    driver q;
    q.begin_with(1).create_unknown(1).parent_watch_failed().epoch_ended().join(2, false).epoch_began();
    CHECK(q.next_to_create() == 0);
    q.does("sync, read");

    SUBCASE("found: adopted, if it is of this session") {
        q.children_read({ours(1, 4)}, 5, true).does("inspect 1 " + ours(1, 4));
        q.inspected(1, ours(1, 4), true).token_known(1, 0).does("granted 1");
        CHECK(q.own().node(1) == ours(1, 4));
        CHECK(q.next_to_create() == 2);
    }
    SUBCASE("found, but gone when it is read: created again") {
        q.children_read({ours(1, 4)}, 5, true).does("inspect 1 " + ours(1, 4));
        q.node_gone(ours(1, 4));
        CHECK(q.next_to_create() == 1);
    }
    SUBCASE("found, but of another session: left alone, and waited for") {
        q.children_read({ours(1, 4)}, 5, true).does("inspect 1 " + ours(1, 4));
        q.inspected(1, ours(1, 4), false).send_creates().does("parent, read");
        q.enqueued(1, 5).enqueued(2, 6).parent_watched(3, 7, 106).does("");
        q.children_read({ours(1, 4), ours(1, 5), ours(2, 6)}, 7, true);
        q.does("watch " + ours(1, 5)); // the other one's watch was set by the look at it
        q.watched(ours(1, 5)).node_gone(ours(1, 4)).does("granted 1");
    }
    SUBCASE("not found: created again, in its old order") {
        q.children_read({}, 0, true);
        CHECK(q.next_to_create() == 1);
        q.does("not_found 1 _c_1-lock-");
    }
    SUBCASE("not found, but the sync failed: looked for again") {
        q.children_read({}, 0, false);
        CHECK(q.next_to_create() == 0);
        q.does("sync, read");
    }
    SUBCASE("abandoned and found: deleted") {
        q.leave(1).children_read({ours(1, 4)}, 5, true).does("remove 1 " + ours(1, 4));
    }
    SUBCASE("abandoned and not found: forgotten") {
        q.leave(1).children_read({foreign(4)}, 5, true).does("not_found 1 _c_1-lock-, gone 1");
    }
    SUBCASE("cut again before the answer: looked for again") {
        q.read_failed().epoch_ended().epoch_began().does("sync, read");
    }
    SUBCASE("cut again while it is inspected: looked for again") {
        q.children_read({ours(1, 4)}, 5, true).does("inspect 1 " + ours(1, 4));
        q.inspect_unknown(1).epoch_ended().epoch_began().does("sync, read");
        q.children_read({ours(1, 4)}, 5, true).does("inspect 1 " + ours(1, 4));
    }
    SUBCASE("cut while it is inspected: its node still counts for who is behind it") {
        q.children_read({ours(1, 4)}, 5, true).send_creates().does("inspect 1 " + ours(1, 4) + ", parent, read");
        q.enqueued(2, 5).parent_watched(2, 6, 105).does("");
        q.children_read({ours(1, 4), ours(2, 5)}, 6, true).contact_lost().inspect_unknown(1).does("");
    }
    SUBCASE("the session ended: forgotten with it, and created again") {
        q.read_failed().epoch_ended().session_ended().epoch_began();
        CHECK(q.next_to_create() == 1);
        q.send_creates().does("parent");
        q.enqueued(1, 5).enqueued(2, 6).parent_watched(3, 7, 106).does("read");
        q.children_read({ours(1, 4), ours(1, 5), ours(2, 6)}, 7, true);
        q.does("watch " + ours(1, 5) + ", watch " + ours(1, 4)); // the old session's node is foreign now
    }
}

TEST_CASE("watches are armed again, and what went meanwhile is found out")
{
    driver q;
    q.wait_behind_foreign().epoch_ended().does("");
    q.epoch_began().does("watch " + ours(1, 1) + ", watch " + foreign(0));
    q.watched(ours(1, 1)).node_gone(foreign(0));
    // The set before it may have grown: the servers may have been set back.
    q.does("read");
    SUBCASE("nobody is before it") {
        q.children_read({ours(1, 1)}, 2, false).does("granted 1");
    }
    SUBCASE("a node that was gone is back") {
        q.children_read({foreign(0), ours(1, 1)}, 2, false).does("watch " + foreign(0));
    }
    SUBCASE("that connection is lost, too: what was read over it does not count over the next") {
        q.children_read({foreign(0), ours(1, 1)}, 2, false).does("watch " + foreign(0));
        q.epoch_ended().epoch_began().does("watch " + ours(1, 1) + ", watch " + foreign(0));
        q.watched(ours(1, 1)).node_gone(foreign(0)).does("read");
    }
}

TEST_CASE("a holder goes on holding, and hands over to its neighbour without the network")
{
    driver q;
    q.hold().queue_second().epoch_ended().leave(1).does("granted 2");
    q.epoch_began().does("remove 1 " + ours(1, 0) + " later");
}

TEST_CASE("unfinished deletes are sent again until one is done")
{
    driver q;
    q.hold().leave(1).does("remove 1 " + ours(1, 0));
    q.remove_failed(1).does("");
    q.epoch_ended().epoch_began().does("remove 1 " + ours(1, 0));
    q.remove_failed(1).retry_remove(1).is_deleted(1, ours(1, 0));
}

TEST_CASE("a refused look-up is not asked for again at once")
{
    driver q;
    q.begin_with(1).contact_lost().create_unknown(1).parent_watch_failed();
    q.epoch_ended().epoch_began().does("sync, read");
    q.read_refused().leave(1).does("");
    q.look_up_again().does("sync, read");
    q.read_refused().epoch_ended().epoch_began().does("sync, read");
    q.children_read({ours(1, 4)}, 5, true).does("remove 1 " + ours(1, 4));
}

TEST_CASE("a node whose token was asked for in an epoch that ended is inspected in the next")
{
    driver q;
    q.hold().join_and_send(2).does("");
    q.created(2, ours(2, 1), 1).contact_lost().token_missed(2).does("");
    q.epoch_ended().epoch_began().does("inspect 2 " + ours(2, 1));
    q.inspected(2, ours(2, 1), true).token_known(2, 0).leave(1).does("read, remove 1 " + ours(1, 0) + " later");
    q.children_read({ours(1, 0), ours(2, 1)}, 2, false).does("granted 2");
}

// --- lock queue, session and lease -----------------------------------------------------------------------------------

TEST_CASE("at the session's end holders are lost, waiters queue again in their order, what was leaving is gone")
{
    driver q;
    q.hold();
    for (contender_id id = 2; id <= 4; ++id)
        q.join_and_send(id);
    q.does("");
    q.enqueued(2, 1).enqueued(3, 2).leave(3).does("remove 3 " + ours(3, 2));
    q.contact_lost().create_unknown(4).remove_failed(3).epoch_ended().session_ended().does("lost 1, gone 3");
    q.epoch_began();
    CHECK(q.next_to_create() == 2);
    q.send_creates().does("parent");
    q.enqueued(2, 7).enqueued(4, 8).parent_watched(3, 9, 108).does("read");
    q.children_read({ours(1, 0), ours(2, 7), ours(4, 8)}, 9, true);
    // The dead session's nodes count until they go.
    q.does("watch " + ours(2, 7) + ", watch " + ours(1, 0));
}

TEST_CASE("when the lease ends the holder leaves, and nobody follows before it is fresh again")
{
    driver q;
    q.hold().queue_second();
    CHECK(q.lapse() == std::vector<contender_id>{1});
    CHECK(q.act(false) == "remove 1 " + ours(1, 0) + " later");
    CHECK(q.act(true) == "granted 2");
}
