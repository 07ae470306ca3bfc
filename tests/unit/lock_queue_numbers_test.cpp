// Where the parent's numbers are scarce: who is held back, and how they begin again.
#include "lock_queue_driver.hpp"

using namespace zklock::queue;
using namespace zklock::unit;

namespace {

/// Scarce from 3 on. Contender 1 holds with number 2, and so its client knows.
struct scarce_driver : driver {
    explicit scarce_driver(reuse allowed = {}) : driver(allowed, 3)
    {
        epoch_began();
        join_and_send(1).does("parent");
        enqueued(1, 2);
        parent_shows_one(3).does("granted 1");
    }

    /// Contender 2 is held back, and contender 1 gone.
    driver& hold_back()
    {
        join_and_send(2).does("");
        leave(1).does("remove 1 " + ours(1, 2));
        return removed(1);
    }
    /// The parent is to be deleted, and has children: it has had so many in all.
    void delete_in_vain(std::int32_t ever)
    {
        CHECK(may_remove_parent(ever));
        parent_occupied().does("read");
    }
};

} // namespace

TEST_CASE("whoever comes is held back; then the empty parent is deleted, and numbers begin again")
{
    scarce_driver q;
    q.hold_back();
    CHECK(q.next_to_create() == 0);
    q.does("remove parent, gone 1");
    q.does(""); // once
    CHECK(q.may_remove_parent(3));
    q.parent_absent(); // the event of our own delete comes before its answer
    q.parent_absent();
    CHECK(q.next_to_create() == 2);
    q.send_creates().does("parent");
    q.enqueued(2, 0).parent_shows_one(1).does("granted 2");
    q.join_and_send(3); // it counts from 0, and what is known is dense again
    q.enqueued(3, 1).does("");
    q.leave(2).does("remove 2 " + ours(2, 0) + " later, granted 3");
}

TEST_CASE("whoever has a node keeps its place, and is served before")
{
    driver q({}, 3);
    q.hold();
    q.join_and_send(2).join_and_send(3).enqueued(2, 1).enqueued(3, 2).join_and_send(4).does("");
    CHECK(q.next_to_create() == 0);
    q.leave(1).does("remove 1 " + ours(1, 0) + " later, granted 2");
    q.removed(1).leave(2).does("remove 2 " + ours(2, 1) + " later, gone 1, granted 3");
    q.removed(2).leave(3).does("remove 3 " + ours(3, 2) + ", gone 2").does(""); // not while its own node may be there
    q.removed(3).does("remove parent, gone 3");
}

TEST_CASE("a list and a look at the parent tell, too")
{
    driver q({}, 3);
    q.begin_with(1).enqueued(1, 1);
    SUBCASE("a list") {
        q.parent_watched(2, 2, 0).does("read");
        q.children_read({ours(1, 1), foreign(2)}, 3, true);
    }
    SUBCASE("a look") {
        q.parent_watched(1, 3, 77).does("read");
    }
    q.join(2, false);
    CHECK(q.next_to_create() == 0);
}

TEST_CASE("while others are there, the youngest is waited for, and no list is read again before it goes")
{
    scarce_driver q;
    q.hold_back().does("remove parent, gone 1");
    q.delete_in_vain(6);
    q.does("");
    q.children_read({foreign(4), foreign(3), foreign(5)}, 6, true).does("watch " + foreign(5));
    q.watched(foreign(5)).node_gone(foreign(3)).does("");
    SUBCASE("it goes, and another has come meanwhile") {
        q.node_gone(foreign(5)).does("remove parent");
        q.delete_in_vain(7);
        q.children_read({foreign(6)}, 7, true).does("watch " + foreign(6));
    }
    SUBCASE("all have gone between the refusal and the list") {
        q.node_gone(foreign(5)).does("remove parent");
        q.delete_in_vain(6);
        q.children_read({}, 6, true).does("remove parent");
    }
    SUBCASE("another client was quicker") {
        q.node_gone(foreign(5)).does("remove parent");
        CHECK_FALSE(q.may_remove_parent(1)); // it looked at the next one
        CHECK(q.next_to_create() == 2);
    }
    SUBCASE("somebody writes to it") {
        q.watch_failed(foreign(5)).does("watch " + foreign(5));
    }
    SUBCASE("nobody is held back any more: the watch is taken back, and set again for the next one") {
        q.leave(2).does("unwatch " + foreign(5) + ", gone 2");
        q.unwatched(foreign(5));
        CHECK(q.idle());
        q.join(3, false).does("watch " + foreign(5));
        q.watched(foreign(5)).leave(3).does("unwatch " + foreign(5) + ", gone 3");
    }
    SUBCASE("the connection ends: all is looked at again") {
        q.epoch_ended().does("");
        q.epoch_began().does("remove parent");
    }
}

TEST_CASE("a delete whose outcome is unknown is asked for again on the next connection")
{
    scarce_driver q;
    q.hold_back().does("remove parent, gone 1");
    q.contact_lost().remove_parent_unknown().does("");
    q.epoch_ended().epoch_began().does("remove parent");
    q.parent_absent(); // it had been done
    CHECK(q.next_to_create() == 2);
}

TEST_CASE("a parent that has to stay: creates go on, up to the limit; then the question is put for each who comes")
{
    for (const bool strangers : {false, true}) {
        scarce_driver q;
        q.hold_back().does("remove parent, gone 1");
        CHECK(q.may_remove_parent(3));
        if (strangers) { // a child that is no contender
            q.parent_occupied().does("read");
            q.children_read({"notes"}, 4, true);
        } else { // it may not be deleted
            q.parent_stays();
        }
        q.does("");
        CHECK(q.next_to_create() == 2);
        q.send_creates().acts();
        q.created(2, ours(2, sequence_limit), sequence_limit, 7).leave(2); // its caller refuses it
        q.does("remove 2 " + ours(2, sequence_limit));
        q.join(3, false).does("");
        q.removed(2).does("remove parent, gone 2"); // by now it may be possible
        q.join(4, false).does("");
        CHECK(q.may_remove_parent(sequence_limit + 1));
        q.parent_stays().does("remove parent, exhausted 3, gone 3");
        CHECK(q.may_remove_parent(sequence_limit + 1));
        q.parent_stays().does("exhausted 4, gone 4");
        q.does("");
        q.join(5, false).does("remove parent");
        CHECK(q.may_remove_parent(sequence_limit + 1));
        q.parent_absent();
        CHECK(q.next_to_create() == 5);
    }
}

TEST_CASE("a node that is called like a contender's, and that no session will take along, is not waited for")
{
    scarce_driver q;
    q.hold_back().does("remove parent, gone 1");
    q.delete_in_vain(6);
    q.children_read({foreign(5)}, 6, true).does("watch " + foreign(5));
    q.watched(foreign(5), true).acts();
    CHECK(q.next_to_create() == 2); // up to the limit
}

TEST_CASE("past the limit nobody waits for others who do not heed it; and the parent is deleted for those to come")
{
    scarce_driver q;
    q.hold_back().does("remove parent, gone 1");
    q.delete_in_vain(sequence_limit);
    q.children_read({foreign(sequence_limit)}, sequence_limit + 1, true).does("exhausted 2, gone 2");
    q.does("remove parent");
    CHECK(q.may_remove_parent(sequence_limit + 1));
    q.parent_absent().does("");
    CHECK(q.idle());
}

TEST_CASE("a Stat counts to 2^31 only: past it only the end of the parent shows that numbers begin again")
{
    driver q;
    q.begin_with(1).created(1, "_c_1-lock--2147483648", -2147483647 - 1, 7).leave(1); // its caller refuses it
    q.parent_watched(1, 1, 7).does("remove 1 _c_1-lock--2147483648");
    q.removed(1).does("remove parent, gone 1");
    CHECK(q.may_remove_parent(1));
    q.parent_absent().join(2, false);
    CHECK(q.next_to_create() == 2);
}

TEST_CASE("whoever looks once is refused as soon as somebody is seen")
{
    SUBCASE("of another client") {
        scarce_driver q;
        q.leave(1).is_deleted(1, ours(1, 2));
        q.join(2, true).does("remove parent");
        CHECK(q.may_remove_parent(4));
        SUBCASE("and is granted if there is none") {
            q.parent_absent();
            CHECK(q.next_to_create() == 2);
        }
        SUBCASE("") {
            q.parent_occupied().does("refused 2, gone 2");
        }
    }
    SUBCASE("of this one: a reader behind a reader") {
        driver q({}, 3);
        q.epoch_began().join(1, false, contender_kind::reader).send_creates().does("parent");
        q.created(1, "_c_1-__READ__0000000002", 2, 102);
        q.token_known(1, 4095).parent_watched(1, 3, 102).does("granted 1");
        q.join(2, true, contender_kind::reader).does("refused 2, gone 2");
    }
}

TEST_CASE("no node lingers, for those who are held back do not queue")
{
    scarce_driver q(reuse{true, 1});
    SUBCASE("") {
        q.leave(1).does("remove 1 " + ours(1, 2));
    }
    SUBCASE("nor is it passed on without end") {
        q.join(2, false).does("");
        q.leave(1).does("remove 1 " + ours(1, 2));
    }
}

TEST_CASE("a cohort ends as always")
{
    scarce_driver q(reuse{false, 2});
    q.join(2, false).join(3, false).does("");
    q.leave(1).does("granted 2 from 1, gone 1");
    q.leave(2).does("remove 2 " + ours(1, 2));
    q.removed(2).does("remove parent, gone 2");
}

TEST_CASE("what was known of an earlier parent does not stay: whatever its numbers were")
{
    driver q;
    q.begin_with(1).enqueued(1, 6).parent_watched(2, 7, 0).does("read");
    q.children_read({foreign(3), ours(1, 6)}, 7, true).does("watch " + ours(1, 6) + ", watch " + foreign(3));
    q.leave(1).is_deleted(1, ours(1, 6));
    q.epoch_ended();                                       // others replace the parent meanwhile
    q.epoch_began().join_and_send(2).does("parent, read"); // others were met here
    q.read_refused().enqueued(2, 0).parent_shows_one(1).does("granted 2");
    for (int id = 3; id <= 6; ++id)
        q.join_and_send(id).enqueued(id, id - 2).does("");
    for (int id = 2; id <= 5; ++id) { // number 4 is granted, too: nothing is watched before it
        q.leave(id);
        q.does("remove " + std::to_string(id) + ' ' + ours(id, id - 2) + " later, granted " + std::to_string(id + 1));
    }
}
