// Readers and writers in the queue: who waits for whom, and what is watched.
#include "lock_queue_driver.hpp"

using namespace zklock::unit;

TEST_CASE("readers do not wait for readers, whoever's they are")
{
    driver q;
    q.begin_behind(foreign_reader(0)).does("granted 1");
    q.reads(2, 2).reads(3, 3).does("granted 2, granted 3");
    q.reads(4, 5); // a gap: somebody has come in between
    q.does("read");
    q.children_read({foreign_reader(0), reader(1, 1), reader(2, 2), reader(3, 3), foreign_reader(4), reader(4, 5)}, 6,
                    true);
    q.does("granted 4");
}

TEST_CASE("a reader watches the nearest writer before it and the one before that, and is granted with the last")
{
    driver q;
    q.epoch_began().reads(1, 6).does("parent");
    q.parent_watched(7, 7, driver::czxid_of(6)).does("read");
    q.children_read({foreign_writer(0), foreign_writer(1), foreign_reader(2), foreign_writer(3), foreign_reader(4),
                     foreign_reader(5), reader(1, 6)},
                    7, true);
    q.does("watch " + reader(1, 6) + ", watch " + foreign_writer(3) + ", watch " + foreign_writer(1));
    q.watched(reader(1, 6)).watched(foreign_writer(3)).watched(foreign_writer(1)).does("");
    q.node_gone(foreign_writer(1)).does("read"); // the one before went unwatched
    q.children_read({foreign_reader(2), foreign_writer(3), foreign_reader(4), foreign_reader(5), reader(1, 6)}, 7,
                    true);
    q.does("");
    q.node_gone(foreign_writer(3)); // whether it reads on, is not the reader's business
    q.does("granted 1");
}

TEST_CASE("a writer waits for all before it; the readers behind it for it alone, and are all let in with its end")
{
    driver q;
    q.begin_behind(foreign_reader(0)).does("granted 1");
    q.writes(2, 2).reads(3, 3).reads(4, 4).writes(5, 5).reads(6, 6).does(""); // the one before the writer is ours
    q.leave(1).does("watch " + writer(2, 2) + ", watch " + foreign_reader(0) + ", remove 1 " + reader(1, 1) + " later");
    q.watched(writer(2, 2)).watched(foreign_reader(0)).removed(1).does("gone 1");
    q.node_gone(foreign_reader(0)).does("granted 2");
    q.leave(2);
    // The readers behind are ours, up to the next writer: nobody else waits for it.
    q.does("remove 2 " + writer(2, 2) + " later, granted 3, granted 4");
    q.leave(4).does("remove 4 " + reader(4, 4) + " later");
    q.leave(3).does("remove 3 " + reader(3, 3) + " later, granted 5");
    q.leave(5);
    // Behind the last reader may be others that wait for this writer, too.
    q.does("remove 5 " + writer(5, 5) + ", granted 6");
    q.leave(6).does("remove 6 " + reader(6, 6));
}

TEST_CASE("a writer's delete does not wait where a foreign reader may be behind it")
{
    driver q;
    q.hold_as_writer().reads(2, 1).writes(3, 3); // between them another's
    CHECK(q.act().empty());
    q.leave(1).does("read, remove 1 " + writer(1, 0) + ", granted 2");
    q.children_read({reader(2, 1), foreign_reader(2), writer(3, 3)}, 4, true);
    CHECK(q.act().starts_with("watch " + writer(3, 3)));
}

TEST_CASE("who looks once is refused by those it cannot share with, and only by them")
{
    driver q;
    q.begin_behind(foreign_reader(0)).does("granted 1");
    CHECK(q.own().contended());
    CHECK_FALSE(q.own().contended(contender_kind::reader));
    const std::vector<std::string> names{foreign_reader(0), reader(1, 1), "notes"};
    CHECK(q.known().busy(names, contender_kind::writer));
    CHECK_FALSE(q.known().busy(names, contender_kind::reader));
    CHECK(q.known().busy({foreign_writer(5)}, contender_kind::reader));
    CHECK(q.known().busy({"x-lock-0000000005"}, contender_kind::reader));

    q.reads(2, 2, true).does("granted 2");
    q.writes(3, 3, true).does("remove 3 " + writer(3, 3) + ", refused 3");
    q.removed(3).writes(4, 4).reads(5, 5, true); // behind a writer of ours that waits
    q.does("remove 5 " + reader(5, 5) + ", gone 3, refused 5");
    CHECK(q.own().contended(contender_kind::reader));
    q.leave(4);
    CHECK_FALSE(q.own().contended(contender_kind::reader));
}

TEST_CASE("a reader that looks once is refused behind one of ours that waits for another client's writer")
{
    for (const bool behind_a_writer : {true, false}) {
        driver q;
        q.begin_behind(behind_a_writer ? foreign_writer(0) : foreign_reader(0)).reads(2, 2, true);
        if (behind_a_writer)
            q.does("watch " + reader(1, 1) + ", watch " + foreign_writer(0) + ", remove 2 " + reader(2, 2) +
                   ", refused 2");
        else
            q.does("granted 1, granted 2");
    }
}

TEST_CASE("after a foreign writer's end a writer is granted only after another look: a reader may have its number")
{
    driver q;
    q.begin_behind(foreign_writer(0)).does("watch " + reader(1, 1) + ", watch " + foreign_writer(0));
    q.watched(reader(1, 1)).watched(foreign_writer(0)).writes(2, 2).node_gone(foreign_writer(0)).does("granted 1");
    q.leave(1).does("read, remove 1 " + reader(1, 1) + " later");
    q.removed(1).does("gone 1");
    q.children_read({node("y", "__READ__", 0), writer(2, 2)}, 4, true); // it has made a child
    q.does("watch " + writer(2, 2) + ", watch " + node("y", "__READ__", 0));
    q.watched(writer(2, 2)).watched(node("y", "__READ__", 0));
    q.node_gone(node("y", "__READ__", 0)); // a reader leaves nothing behind
    q.does("granted 2");
}

TEST_CASE("the look may come late: also for a writer that arrives after the event, on a queue that is known")
{
    driver q;
    q.begin_behind(foreign_writer(0)).acts();
    q.watched(reader(1, 1)).watched(foreign_writer(0)).node_gone(foreign_writer(0)).does("granted 1");
    q.leave(1).acts().removed(1).acts().writes(2, 2).does("read");
    q.read_failed(); // its answer is lost with the connection; the doubt is not
    q.epoch_ended().epoch_began();
    const std::string asked = q.act();
    CHECK(asked.find("granted") == std::string::npos);
}

TEST_CASE("a mutex's end leaves nothing behind: no second look")
{
    driver q;
    q.begin_behind(foreign(0)).writes(2, 2).leave(1).removed(1);
    CHECK(q.act().find("watch " + foreign(0)) != std::string::npos);
    q.watched(foreign(0)).watched(writer(2, 2)).acts().node_gone(foreign(0)).does("granted 2");
}
