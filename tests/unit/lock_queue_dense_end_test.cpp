// What ends the dense view: the numbers alone tell no more, until all is read again.
#include "lock_queue_driver.hpp"

using namespace zklock::queue;
using namespace zklock::unit;

namespace {

/// The next contender gets the right number, but perhaps of another parent: it has the parent watched, and reads all.
void reads_all_again(driver& q)
{
    q.join_and_send(2).does("parent");
    q.enqueued(2, 1).does("");
    q.parent_watched(2, 2, 101).does("read");
    q.children_read({foreign(0), ours(2, 1)}, 2, true).does("watch " + ours(2, 1) + ", watch " + foreign(0));
}

} // namespace

TEST_CASE("any event for the parent ends it")
{
    driver q;
    q.hold().leave(1).is_deleted(1, ours(1, 0));

    SUBCASE("its data was set: whoever did may delete and make it again, unseen")
        q.parent_changed();
    SUBCASE("it was deleted")
        q.parent_absent();
    CHECK_FALSE(q.known().parent().watched());
    reads_all_again(q);
}

TEST_CASE("an event between a create and its answer ends it too")
{
    driver q;
    q.hold().leave(1).is_deleted(1, ours(1, 0));
    q.join_and_send(2).does("");
    q.parent_changed().enqueued(2, 1).does("parent");
}

TEST_CASE("with the parent's deletion all below it is gone")
{
    driver q;
    q.hold().queue_second().parent_absent().does("lost 1");
    CHECK(q.next_to_create() == 2);
}

TEST_CASE("a change of the parent's data takes nothing from those who are covered")
{
    driver q;
    q.hold().queue_second().parent_changed().leave(1).does("remove 1 " + ours(1, 0) + " later, granted 2");
}

TEST_CASE("a refusal at the path ends it: whoever may not read hears of no event")
{
    driver q;
    q.hold().leave(1).is_deleted(1, ours(1, 0));
    q.path_refused();
    CHECK(q.known().parent().watched()); // there may be a watch to be taken back
    reads_all_again(q);
    q.forget_parent();
    CHECK_FALSE(q.known().parent().watched());
}

TEST_CASE("a refusal at the path takes nothing from those who are covered")
{
    driver q;
    q.hold().queue_second().path_refused().leave(1).does("remove 1 " + ours(1, 0) + " later, granted 2");
}

TEST_CASE("a watch that is confirmed after a refusal counts, and an earlier one is still to be taken back")
{
    driver q;
    q.begin_with(1).path_refused().enqueued(1, 3);
    SUBCASE("confirmed") {
        q.parent_shows_one(4).does("granted 1");
        q.join_and_send(2).enqueued(2, 4).leave(1).does("remove 1 " + ours(1, 3) + " later, granted 2");
    }
    SUBCASE("refused, too") {
        q.parent_watch_failed();
        CHECK(q.known().parent().watched());
        q.does("parent");
    }
}

TEST_CASE("a list shows nothing about later numbers unless the parent's watch was confirmed before")
{
    driver q;
    q.wait_behind_foreign().node_gone(foreign(0)).does("granted 1");
    q.join_and_send(2).does("read");
    q.parent_changed().enqueued(2, 2).children_read({ours(1, 1), ours(2, 2)}, 3, true).does("");
    q.join_and_send(3).enqueued(3, 3); // the right number, if it were still the same parent
    q.leave(1).leave(2).does("parent, remove 1 " + ours(1, 1) + ", remove 2 " + ours(2, 2));
}

TEST_CASE("a lost answer, or the connection's end, ends it, and no late answer brings it back")
{
    driver q;
    q.hold().leave(1).is_deleted(1, ours(1, 0));
    SUBCASE("a lost answer") {
        q.contact_lost();
        CHECK_FALSE(q.known().parent().watched());
        q.parent_watched(0, 1, 7).epoch_ended();
        CHECK_FALSE(q.known().parent().watched());
    }
    SUBCASE("the end alone")
        q.epoch_ended();
    q.begin_with(2).enqueued(2, 1).does("");
}

TEST_CASE("forgotten by wish, it has to be learnt again")
{
    driver q;
    q.hold().leave(1).removed(1).does("gone 1");
    CHECK(q.idle());
    q.forget_parent();
    CHECK_FALSE(q.known().parent().watched());
    q.join_and_send(2).does("parent");
}
