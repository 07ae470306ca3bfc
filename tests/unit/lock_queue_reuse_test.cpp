// Nodes that serve more than one contender: lingering and cohorts.
#include "lock_queue_driver.hpp"

using namespace zklock::queue;
using namespace zklock::unit;

namespace {

constexpr reuse lingers{true, 1};
constexpr reuse cohort_of(unsigned size)
{
    return {false, size};
}

/// Contender 1 has given the lock back; its node lingers, and the children are being watched.
struct lingering_driver : driver {
    lingering_driver() : driver(lingers)
    {
        hold();
        leave(1).does("read and watch, lingers 1");
        CHECK(own().lingering() != nullptr);
        CHECK_FALSE(own().contended());
        CHECK_FALSE(idle());
    }
};

} // namespace

// --- lock queue, lingering -------------------------------------------------------------------------------------------

TEST_CASE("the next one gets the node without a request, and so on")
{
    lingering_driver q;
    q.children_read({ours(1, 0)}, 1, true).does("");
    for (contender_id id = 2; id < 10; ++id) {
        q.join_and_send(id);
        q.does("granted " + std::to_string(id) + " from " + std::to_string(id - 1) + ", gone " +
               std::to_string(id - 1));
        CHECK(q.own().node(id) == ours(1, 0));
        CHECK(q.own().lingering() == nullptr);
        q.leave(id).does("lingers " + std::to_string(id)); // the watch is still there
    }
    q.stop_lingering().is_deleted(9, ours(1, 0));
    CHECK(q.idle());
}

TEST_CASE("no node lingers after a refusal at the path: nobody would tell who queues")
{
    lingering_driver q;
    q.children_read({ours(1, 0)}, 1, true).does("");
    q.path_refused().is_deleted(1, ours(1, 0));
}

TEST_CASE("the next one need not wait for the children's watch")
{
    lingering_driver q;
    q.join_and_send(2);
    CHECK(q.next_to_create() == 0);
    q.does("granted 2 from 1, gone 1");
    q.children_read({ours(1, 0)}, 1, true).does("");
}

TEST_CASE("the next one has a node of its own where the lease grants nothing")
{
    lingering_driver q;
    q.join_and_send(2);
    CHECK(q.act(false) == "remove 1 _c_1-lock-0000000000");
    CHECK(q.next_to_create() == 2);
}

TEST_CASE("is not for those whose token cannot count another grant")
{
    driver q(lingers);
    q.begin_with(1).created(1, ours(1, 0), 0, 100).token_known(1, 1).parent_shows_one(1).does("granted 1");
    q.leave(1).does("read and watch, lingers 1");
    q.join_and_send(2).does("granted 2 from 1, gone 1");
    q.leave(2).does("remove 2 " + ours(1, 0));
}

TEST_CASE("is not for one behind whom another of ours is still being looked at")
{
    driver q(lingers);
    q.hold().queue_second().token_missed(2).does("inspect 2 " + ours(2, 1));
    q.leave(1).does("remove 1 " + ours(1, 0) + " later");
    q.inspected(2, ours(2, 1), true).does("granted 2");
}

TEST_CASE("ends when others queue")
{
    lingering_driver q;
    SUBCASE("as the list shows") {
        q.children_read({ours(1, 0), foreign(1)}, 2, true).does("remove 1 " + ours(1, 0));
    }
    SUBCASE("as an event says") {
        q.children_read({ours(1, 0)}, 1, true).does("");
        q.children_changed().does("remove 1 " + ours(1, 0));
    }
    q.removed(1).does("gone 1");
    q.join_and_send(2).acts().enqueued(2, 3); // who queued is before it
    q.acts().children_read({foreign(1), ours(2, 3)}, 4, true).does("watch " + ours(2, 3) + ", watch " + foreign(1));
}

TEST_CASE("ends where the children may not be watched: others could queue unnoticed")
{
    lingering_driver q;
    q.read_refused().does("remove 1 " + ours(1, 0));
    q.does("");
}

TEST_CASE("takes a watch that was asked for where there was no parent for none")
{
    lingering_driver q;
    q.parent_absent(); // and made again, after the answer
    q.children_read({}, 0, true).parent_absent().does("gone 1 by others");
    CHECK_FALSE(q.known().parent().watched());
    q.join_and_send(2).does("parent");
    q.enqueued(2, 0).parent_shows_one(1).does("granted 2");
    q.leave(2).does("read and watch, lingers 2");
}

TEST_CASE("does not begin where others wait already")
{
    lingering_driver q;
    q.children_read({ours(1, 0)}, 1, true).join_and_send(2).does("granted 2 from 1, gone 1");
    SUBCASE("somebody came while it was held") {
        q.children_changed().leave(2).does("remove 2 " + ours(1, 0));
    }
    SUBCASE("one of ours has a node of its own") {
        q.join_and_send(3).does("");
        q.enqueued(3, 1).leave(2).does("remove 2 " + ours(1, 0) + " later, granted 3");
    }
    SUBCASE("one of ours has a create under way") {
        q.join_and_send(3).leave(2).does("remove 2 " + ours(1, 0));
    }
}

TEST_CASE("does not begin behind which others were seen")
{
    driver q(lingers);
    q.begin_with(1).enqueued(1, 3).parent_watched(2, 5, 104).does("read");
    q.children_read({ours(1, 3), foreign(4)}, 5, true).does("granted 1");
    q.leave(1).does("remove 1 " + ours(1, 3));
}

TEST_CASE("ends with the connection, with the lease, with the session")
{
    lingering_driver q;
    SUBCASE("the connection") {
        q.contact_lost().read_failed().epoch_ended();
        CHECK(q.own().lingering() == nullptr);
        q.does("");
        q.epoch_began().does("remove 1 " + ours(1, 0));
    }
    SUBCASE("a lost answer") {
        q.contact_lost().does("");
        CHECK(q.own().lingering() == nullptr);
    }
    SUBCASE("the lease: nobody is told, because nobody holds") {
        CHECK(q.lapse().empty());
        CHECK(q.act(false) == "remove 1 " + ours(1, 0));
    }
    SUBCASE("the session") {
        q.contact_lost().read_failed().epoch_ended().session_ended().does("gone 1");
        CHECK(q.idle());
    }
}

TEST_CASE("does not begin while disconnected")
{
    driver q(lingers);
    q.hold().epoch_ended().leave(1).does("");
    CHECK(q.own().lingering() == nullptr);
    q.epoch_began().does("remove 1 " + ours(1, 0));
}

TEST_CASE("a lingering node that others delete is gone, and the next one makes its own")
{
    lingering_driver q;
    q.children_read({}, 1, true).does("gone 1 by others");
    CHECK(q.own().lingering() == nullptr);
    q.join_and_send(2).does("");
    q.enqueued(2, 1).does("granted 2");
}

// --- lock queue, cohorts ---------------------------------------------------------------------------------------------

TEST_CASE("one node serves as many as a cohort may have grants, and the next one queues during the last")
{
    driver q(cohort_of(3));
    q.epoch_began();
    for (contender_id id = 1; id <= 6; ++id)
        q.join(id, false);
    q.send_creates().does("parent");
    CHECK(q.next_to_create() == 0); // one is enough
    q.enqueued(1, 0).parent_shows_one(1).does("granted 1");
    CHECK(q.next_to_create() == 0);
    q.leave(1).does("granted 2 from 1, gone 1");
    CHECK(q.next_to_create() == 0);
    q.leave(2).does("granted 3 from 2, gone 2");
    CHECK(q.next_to_create() == 4);
    q.send_creates().does("");
    CHECK(q.next_to_create() == 0);
    q.leave(3).does("remove 3 " + ours(1, 0)); // others may have come before the fourth
    q.enqueued(4, 1).does("granted 4");
    q.leave(4).does("granted 5 from 4, gone 4");
}

TEST_CASE("whoever comes while the lock is held takes a grant more, not a node")
{
    driver q(cohort_of(2));
    q.hold().join_and_send(2).does("");
    CHECK(q.next_to_create() == 0);
    q.leave(1).does("granted 2 from 1, gone 1");
    CHECK(q.next_to_create() == 0);
    q.join_and_send(3).does("");
    q.enqueued(3, 1).leave(2).does("remove 2 " + ours(1, 0) + " later, granted 3");
}

TEST_CASE("a node that nobody of ours waits for does not stay")
{
    driver q(cohort_of(3));
    q.hold().leave(1).does("remove 1 " + ours(1, 0));
}

TEST_CASE("no more grants of a node than the token can count")
{
    driver q(cohort_of(3));
    q.epoch_began().join(1, false).join(2, false).send_creates().does("parent");
    q.created(1, ours(1, 0), 0, 100).token_known(1, 0); // in a batch, and not the last
    q.parent_shows_one(1).does("granted 1");
    CHECK(q.next_to_create() == 2);
}

TEST_CASE("a node that waits is one, too")
{
    driver q(cohort_of(4));
    q.wait_behind_foreign().join_and_send(2).does("");
    CHECK(q.next_to_create() == 0);
    q.leave(1); // the one that queued for all gives up
    CHECK(q.next_to_create() == 2);
}

TEST_CASE("a cohort's lock is passed on while disconnected, under a fresh lease")
{
    driver q(cohort_of(3));
    q.hold().join_and_send(2).leave(1).contact_lost();
    CHECK(q.act(false) == "");
    q.epoch_ended().does("");
    q.epoch_began().does("remove 1 " + ours(1, 0));
    CHECK(q.next_to_create() == 2);
}

TEST_CASE("no node stays over another connection: servers that were set back may show one before it again")
{
    driver cohort(cohort_of(3));
    cohort.hold().epoch_ended().epoch_began().join_and_send(2).leave(1).does("remove 1 " + ours(1, 0));
    CHECK(cohort.next_to_create() == 2);
    driver alone(lingers);
    alone.hold().epoch_ended().epoch_began().leave(1).does("remove 1 " + ours(1, 0));
}

TEST_CASE("with lingering: grants of a node are not counted while nobody else waits, and are once somebody does")
{
    driver q(reuse{true, 3});
    q.hold();
    for (contender_id id = 2; id <= 20; ++id)
        q.join(id, false);
    q.leave(1).does("read and watch, granted 2 from 1, gone 1"); // whoever queues is to be noticed
    q.children_read({ours(1, 0)}, 1, true);
    for (int id = 2; id < 10; ++id) {
        q.leave(id);
        q.does("granted " + std::to_string(id + 1) + " from " + std::to_string(id) + ", gone " + std::to_string(id));
    }
    q.children_changed().leave(10).does("granted 11 from 10, gone 10");
    CHECK(q.next_to_create() == 0);
    q.leave(11).does("granted 12 from 11, gone 11");
    CHECK(q.next_to_create() == 13);
}
