// What a downgrade does to a writer's place in the queue.
#include "lock_queue_driver.hpp"

using namespace zklock::unit;

TEST_CASE("keeps the number and the queue known; readers follow in the same turn, writers do not")
{
    driver q;
    q.hold_as_writer().reads(2, 1).reads(3, 2).writes(4, 3).does("");
    q.downgrade(1).does("downgrade 1 " + writer(1, 0)).does(""); // once
    CHECK(q.own().contended(contender_kind::reader));
    q.downgraded(1).does("shares 1 " + reader(1, 0) + ", granted 2, granted 3");
    q.reads(5, 5); // the reader's node has used number 4
    q.does("");
    q.leave(1).does("remove 1 " + reader(1, 0) + " later");
    q.leave(2).leave(3);
    CHECK(q.act().ends_with("granted 4"));
    q.leave(4);
    CHECK(q.act().ends_with("granted 5"));
}

TEST_CASE("uses one number: who takes that for its own takes another's node for nobody's")
{
    driver q;
    q.hold_as_writer().downgrade(1).acts().downgraded(1).acts().reads(2, 3); // 1 is the downgrade's; 2 is not known
    q.does("read");
}

TEST_CASE("is not taken for a loss when its own transaction deletes the writer's node under a watch")
{
    driver q;
    q.hold_as_writer().hold_on(1).does("watch " + writer(1, 0));
    q.watched(writer(1, 0)).reads(2, 1).downgrade(1).does("downgrade 1 " + writer(1, 0));
    q.node_gone(writer(1, 0)).does("");
    q.downgraded(1).does("watch " + reader(1, 0) + ", shares 1 " + reader(1, 0) + ", granted 2"); // it holds on
}

TEST_CASE("finds out from its answer that others had deleted the node")
{
    driver q;
    q.hold_as_writer().writes(2, 1).downgrade(1).acts().node_gone(writer(1, 0)).does("");
    q.downgrade_lost(1).does("watch " + writer(2, 1) + ", lost 1"); // who may have deleted that one, too
    q.watched(writer(2, 1)).does("granted 2");
}

TEST_CASE("that is refused leaves a writer, who may try again")
{
    driver q;
    q.hold_as_writer().reads(2, 1).downgrade(1).acts().downgrade_refused(1).does("");
    q.downgrade(1).does("downgrade 1 " + writer(1, 0));
}

TEST_CASE("that is refused leaves a writer whose node is looked after: others may have deleted it meanwhile")
{
    driver q;
    q.hold_as_writer().hold_on(1).does("watch " + writer(1, 0));
    q.watched(writer(1, 0)).downgrade(1).acts().node_gone(writer(1, 0)).does("");
    q.downgrade_refused(1).does("watch " + writer(1, 0));
    q.node_gone(writer(1, 0)); // there is none
    q.does("lost 1");
}

TEST_CASE("whose outcome is unknown is asked for again; a list in between shows a node that is nobody else's")
{
    driver q;
    q.hold_as_writer().writes(2, 1).downgrade(1).acts().send(3, contender_kind::writer).contact_lost();
    q.downgrade_unknown(1).create_unknown(3).epoch_ended().does("");
    q.epoch_began().does("sync, read, downgrade 1 " + writer(1, 0));
    // The one whose answer was lost had been done.
    q.children_read({reader(1, 0), writer(2, 1)}, 3, true).does("not_found 3 _c_3-__WRIT__");
    q.downgraded(1, true).does("shares 1 " + reader(1, 0));
    CHECK(q.own().contended(contender_kind::reader)); // two writers wait
    q.leave(1);
    CHECK(q.act().find("granted 2") != std::string::npos);
}

TEST_CASE("that its caller leaves meanwhile ends with the node, whichever that is")
{
    for (const bool done : {true, false}) {
        driver q;
        q.hold_as_writer().reads(2, 1).downgrade(1).acts().leave(1).does("");
        if (done)
            q.downgraded(1);
        else
            q.downgrade_refused(1);
        q.does("remove 1 " + (done ? reader(1, 0) : writer(1, 0)) + (done ? " later" : "") + ", granted 2");
        q.removed(1).does("gone 1");
    }
}

TEST_CASE("its place is none of a parent that was made again meanwhile")
{
    driver q;
    q.epoch_began().writes(1, 2).does("parent");
    q.parent_watched(1, 3, driver::czxid_of(2)).does("granted 1");
    q.downgrade(1).does("downgrade 1 " + writer(1, 2));
    for (int id : {2, 3, 4})
        q.send(id, contender_kind::writer);
    for (int id : {2, 3, 4}) // in one transaction, say: their numbers have begun again
        q.created(id, writer(id, id - 2), id - 2);
    for (int id : {2, 3, 4})
        CHECK(q.known().contender_of(writer(id, id - 2)) == static_cast<contender_id>(id));
    q.downgrade_lost(1);
    CHECK(q.act().find("lost 1") != std::string::npos);
}

TEST_CASE("that was never sent is not sent for one who has left, or whose lease has ended")
{
    for (const bool lapsed : {true, false}) {
        driver q;
        q.hold_as_writer().epoch_ended().downgrade(1).does("");
        if (lapsed)
            CHECK(q.lapse() == std::vector<contender_id>{1});
        else
            q.leave(1);
        q.does("");
        q.epoch_began().is_deleted(1, writer(1, 0));
        CHECK(q.idle());
    }
    // Once it was sent, nobody knows which node it is.
    driver q;
    q.hold_as_writer().downgrade(1).acts().contact_lost().downgrade_unknown(1);
    q.epoch_ended().leave(1).epoch_began().does("downgrade 1 " + writer(1, 0));
    q.downgraded(1, true).does("remove 1 " + reader(1, 0));
}

TEST_CASE("does not outlive the lease or the session")
{
    driver q;
    q.hold_as_writer().downgrade(1).acts();
    CHECK(q.lapse() == std::vector<contender_id>{1});
    CHECK(q.lapse().empty());
    q.downgraded(1).does("remove 1 " + reader(1, 0));

    driver p;
    p.hold_as_writer().downgrade(1).acts().contact_lost().downgrade_unknown(1).epoch_ended();
    p.session_ended();
    CHECK(p.act() == "lost 1");
    CHECK(p.idle());
}
