// Readers and writers in the queue: who waits for whom, what is watched, and what a downgrade does to a place.
#include "unit/lock_queue_driver.hpp"

using namespace zklock;
using namespace zklock::unit;
using queue::contender_kind;

namespace {

std::string node(const std::string& id, const char* mark, int sequence)
{
    char digits[16];
    std::snprintf(digits, sizeof digits, "%010d", sequence);
    return "_c_" + id + "-" + mark + digits;
}
std::string reader(int id, int sequence) { return node(std::to_string(id), "__READ__", sequence); }
std::string writer(int id, int sequence) { return node(std::to_string(id), "__WRIT__", sequence); }
std::string foreign_reader(int sequence) { return node("x", "__READ__", sequence); }
std::string foreign_writer(int sequence) { return node("x", "__WRIT__", sequence); }

/// Contenders that read and write, each create answered at once with the next number.
struct shared_driver : driver {
    void send(contender_id id, contender_kind kind, bool look_once = false)
    {
        join(id, look_once, kind);
        REQUIRE(next_to_create() == id);
        const std::string name = kind == contender_kind::reader ? reader(static_cast<int>(id), 0)
                                                                : writer(static_cast<int>(id), 0);
        create_sent(id, name.substr(0, name.size() - queue::sequence_digits));
    }
    void arrive(contender_id id, contender_kind kind, int sequence, bool look_once = false)
    {
        send(id, kind, look_once);
        const int number = static_cast<int>(id);
        const bool reads = kind == contender_kind::reader;
        created(id, reads ? reader(number, sequence) : writer(number, sequence), sequence, czxid_of(sequence));
        numbered(id, 4095);
    }
    void reads(contender_id id, int sequence, bool look_once = false)
    {
        arrive(id, contender_kind::reader, sequence, look_once);
    }
    void writes(contender_id id, int sequence, bool look_once = false)
    {
        arrive(id, contender_kind::writer, sequence, look_once);
    }

    /// Number 0 belongs to another client's node, which the view shows.
    void begin_behind(const std::string& foreign)
    {
        epoch_began();
        reads(1, 1);
        CHECK(act() == "parent");
        parent_watched(2, 2, czxid_of(1));
        CHECK(act() == "read");
        children_read({foreign, reader(1, 1)}, 2, true);
    }
    /// Contender 1 holds number 0 as a writer, alone.
    void hold_as_writer()
    {
        epoch_began();
        send(1, contender_kind::writer);
        CHECK(act() == "parent");
        created(1, writer(1, 0), 0, czxid_of(0));
        numbered(1, 4095);
        parent_shows_one(1);
        CHECK(act() == "granted 1");
    }
};

} // namespace

TEST_SUITE("readers and writers")
{
    TEST_CASE("readers do not wait for readers, whoever's they are")
    {
        shared_driver q;
        q.begin_behind(foreign_reader(0));
        CHECK(q.act() == "granted 1");
        q.reads(2, 2);
        q.reads(3, 3);
        CHECK(q.act() == "granted 2, granted 3");
        q.reads(4, 5); // a gap: somebody has come in between
        CHECK(q.act() == "read");
        q.children_read({foreign_reader(0), reader(1, 1), reader(2, 2), reader(3, 3), foreign_reader(4), reader(4, 5)}, 6,
                        true);
        CHECK(q.act() == "granted 4");
    }

    TEST_CASE("a reader watches the nearest writer before it and the one before that, and is granted with the last")
    {
        shared_driver q;
        q.epoch_began();
        q.reads(1, 6);
        CHECK(q.act() == "parent");
        q.parent_watched(7, 7, driver::czxid_of(6));
        CHECK(q.act() == "read");
        q.children_read({foreign_writer(0), foreign_writer(1), foreign_reader(2), foreign_writer(3), foreign_reader(4),
                         foreign_reader(5), reader(1, 6)},
                        7, true);
        CHECK(q.act() == "watch " + reader(1, 6) + ", watch " + foreign_writer(3) + ", watch " + foreign_writer(1));
        q.watched(reader(1, 6));
        q.watched(foreign_writer(3));
        q.watched(foreign_writer(1));
        CHECK(q.act() == "");
        q.node_gone(foreign_writer(1));
        CHECK(q.act() == "read"); // the one before went unwatched
        q.children_read({foreign_reader(2), foreign_writer(3), foreign_reader(4), foreign_reader(5), reader(1, 6)}, 7, true);
        CHECK(q.act() == "");
        q.node_gone(foreign_writer(3)); // whether it reads on, is not the reader's business
        CHECK(q.act() == "granted 1");
    }

    TEST_CASE("a writer waits for all before it; the readers behind it for it alone, and are all let in with its end")
    {
        shared_driver q;
        q.begin_behind(foreign_reader(0));
        CHECK(q.act() == "granted 1");
        q.writes(2, 2);
        q.reads(3, 3);
        q.reads(4, 4);
        q.writes(5, 5);
        q.reads(6, 6);
        CHECK(q.act() == ""); // the one before the writer is ours
        q.leave(1);
        CHECK(q.act() == "watch " + writer(2, 2) + ", watch " + foreign_reader(0) + ", remove 1 " + reader(1, 1) + " later");
        q.watched(writer(2, 2));
        q.watched(foreign_reader(0));
        q.removed(1);
        CHECK(q.act() == "gone 1");
        q.node_gone(foreign_reader(0));
        CHECK(q.act() == "granted 2");
        q.leave(2);
        // The readers behind are ours, up to the next writer: nobody else waits for it.
        CHECK(q.act() == "remove 2 " + writer(2, 2) + " later, granted 3, granted 4");
        q.leave(4);
        CHECK(q.act() == "remove 4 " + reader(4, 4) + " later");
        q.leave(3);
        CHECK(q.act() == "remove 3 " + reader(3, 3) + " later, granted 5");
        q.leave(5);
        // Behind the last reader may be others that wait for this writer, too.
        CHECK(q.act() == "remove 5 " + writer(5, 5) + ", granted 6");
        q.leave(6);
        CHECK(q.act() == "remove 6 " + reader(6, 6));
    }

    TEST_CASE("a writer's delete does not wait where a foreign reader may be behind it")
    {
        shared_driver q;
        q.hold_as_writer();
        q.reads(2, 1);
        q.writes(3, 3); // between them another's
        q.act();
        q.children_read({writer(1, 0), reader(2, 1), foreign_reader(2), writer(3, 3)}, 4, true);
        q.leave(1);
        CHECK(q.act().ends_with("remove 1 " + writer(1, 0) + ", granted 2"));
    }

    TEST_CASE("who looks once is refused by those it cannot share with, and only by them")
    {
        shared_driver q;
        q.begin_behind(foreign_reader(0));
        CHECK(q.act() == "granted 1");
        CHECK(q.contended());
        CHECK_FALSE(q.contended(contender_kind::reader));
        const std::vector<std::string> names{foreign_reader(0), reader(1, 1), "notes"};
        CHECK(q.busy(names, contender_kind::writer));
        CHECK_FALSE(q.busy(names, contender_kind::reader));
        CHECK(q.busy({foreign_writer(5)}, contender_kind::reader));
        CHECK(q.busy({"x-lock-0000000005"}, contender_kind::reader));

        q.reads(2, 2, true);
        CHECK(q.act() == "granted 2");
        q.writes(3, 3, true);
        CHECK(q.act() == "remove 3 " + writer(3, 3) + ", refused 3");
        q.removed(3);
        q.writes(4, 4);
        q.reads(5, 5, true); // behind a writer of ours that waits
        CHECK(q.act() == "remove 5 " + reader(5, 5) + ", gone 3, refused 5");
        CHECK(q.contended(contender_kind::reader));
        q.leave(4);
        CHECK_FALSE(q.contended(contender_kind::reader));
    }

    TEST_CASE("a reader that looks once is refused behind one of ours that waits for another client's writer")
    {
        for (const bool behind_a_writer : {true, false}) {
            shared_driver q;
            q.begin_behind(behind_a_writer ? foreign_writer(0) : foreign_reader(0));
            q.reads(2, 2, true);
            if (behind_a_writer)
                CHECK(q.act() == "watch " + reader(1, 1) + ", watch " + foreign_writer(0) + ", remove 2 " + reader(2, 2) +
                                     ", refused 2");
            else
                CHECK(q.act() == "granted 1, granted 2");
        }
    }

    TEST_CASE("after a foreign writer's end a writer is granted only after another look: a reader may have its number")
    {
        shared_driver q;
        q.begin_behind(foreign_writer(0));
        CHECK(q.act() == "watch " + reader(1, 1) + ", watch " + foreign_writer(0));
        q.watched(reader(1, 1));
        q.watched(foreign_writer(0));
        q.writes(2, 2);
        q.node_gone(foreign_writer(0));
        CHECK(q.act() == "granted 1");
        q.leave(1);
        CHECK(q.act() == "read, remove 1 " + reader(1, 1) + " later");
        q.removed(1);
        CHECK(q.act() == "gone 1");
        q.children_read({node("y", "__READ__", 0), writer(2, 2)}, 4, true); // it has made a child
        CHECK(q.act() == "watch " + writer(2, 2) + ", watch " + node("y", "__READ__", 0));
        q.watched(writer(2, 2));
        q.watched(node("y", "__READ__", 0));
        q.node_gone(node("y", "__READ__", 0)); // a reader leaves nothing behind
        CHECK(q.act() == "granted 2");
    }

    TEST_CASE("the look may come late: also for a writer that arrives after the event, on a queue that is known")
    {
        shared_driver q;
        q.begin_behind(foreign_writer(0));
        q.act();
        q.watched(reader(1, 1));
        q.watched(foreign_writer(0));
        q.node_gone(foreign_writer(0));
        CHECK(q.act() == "granted 1");
        q.leave(1);
        q.act();
        q.removed(1);
        q.act();
        q.writes(2, 2);
        CHECK(q.act() == "read");
        q.epoch_ended(); // its answer is lost with the connection; the doubt is not
        q.read_failed();
        q.epoch_began();
        const std::string asked = q.act();
        CHECK(asked.find("granted") == std::string::npos);
    }

    TEST_CASE("a mutex's end leaves nothing behind: no second look")
    {
        shared_driver q;
        q.begin_behind(foreign(0));
        q.writes(2, 2);
        q.leave(1);
        q.removed(1);
        CHECK(q.act().find("watch " + foreign(0)) != std::string::npos);
        q.watched(foreign(0));
        q.watched(writer(2, 2));
        q.act();
        q.node_gone(foreign(0));
        CHECK(q.act() == "granted 2");
    }
}

TEST_SUITE("a downgrade")
{
    TEST_CASE("keeps the number and the queue known; readers follow in the same turn, writers do not")
    {
        shared_driver q;
        q.hold_as_writer();
        q.reads(2, 1);
        q.reads(3, 2);
        q.writes(4, 3);
        CHECK(q.act() == "");
        q.downgrade(1);
        CHECK(q.act() == "downgrade 1 " + writer(1, 0));
        CHECK(q.act() == ""); // once
        CHECK(q.contended(contender_kind::reader));
        q.downgraded(1);
        CHECK(q.act() == "shares 1 " + reader(1, 0) + ", granted 2, granted 3");
        q.reads(5, 5); // the reader's node has used number 4
        CHECK(q.act() == "");
        q.leave(1);
        CHECK(q.act() == "remove 1 " + reader(1, 0) + " later");
        q.leave(2);
        q.leave(3);
        CHECK(q.act().ends_with("granted 4"));
        q.leave(4);
        CHECK(q.act().ends_with("granted 5"));
    }

    TEST_CASE("uses one number: who takes that for its own takes another's node for nobody's")
    {
        shared_driver q;
        q.hold_as_writer();
        q.downgrade(1);
        q.act();
        q.downgraded(1);
        q.act();
        q.reads(2, 3); // 1 is the downgrade's; 2 is not known
        CHECK(q.act() == "read");
    }

    TEST_CASE("is not taken for a loss when its own transaction deletes the writer's node under a watch")
    {
        shared_driver q;
        q.hold_as_writer();
        q.hold_on(1);
        CHECK(q.act() == "watch " + writer(1, 0));
        q.watched(writer(1, 0));
        q.reads(2, 1);
        q.downgrade(1);
        CHECK(q.act() == "downgrade 1 " + writer(1, 0));
        q.node_gone(writer(1, 0));
        CHECK(q.act() == "");
        q.downgraded(1);
        CHECK(q.act() == "watch " + reader(1, 0) + ", shares 1 " + reader(1, 0) + ", granted 2"); // it holds on
    }

    TEST_CASE("finds out from its answer that others had deleted the node")
    {
        shared_driver q;
        q.hold_as_writer();
        q.writes(2, 1);
        q.downgrade(1);
        q.act();
        q.node_gone(writer(1, 0));
        CHECK(q.act() == "");
        q.downgrade_lost(1);
        CHECK(q.act() == "watch " + writer(2, 1) + ", lost 1"); // who may have deleted that one, too
        q.watched(writer(2, 1));
        CHECK(q.act() == "granted 2");
    }

    TEST_CASE("that is refused leaves a writer, who may try again")
    {
        shared_driver q;
        q.hold_as_writer();
        q.reads(2, 1);
        q.downgrade(1);
        q.act();
        q.downgrade_refused(1);
        CHECK(q.act() == "");
        q.downgrade(1);
        CHECK(q.act() == "downgrade 1 " + writer(1, 0));
    }

    TEST_CASE("that is refused leaves a writer whose node is looked after: others may have deleted it meanwhile")
    {
        shared_driver q;
        q.hold_as_writer();
        q.hold_on(1);
        CHECK(q.act() == "watch " + writer(1, 0));
        q.watched(writer(1, 0));
        q.downgrade(1);
        q.act();
        q.node_gone(writer(1, 0));
        CHECK(q.act() == "");
        q.downgrade_refused(1);
        CHECK(q.act() == "watch " + writer(1, 0));
        q.node_gone(writer(1, 0)); // there is none
        CHECK(q.act() == "lost 1");
    }

    TEST_CASE("whose outcome is unknown is asked for again; a list in between shows a node that is nobody else's")
    {
        shared_driver q;
        q.hold_as_writer();
        q.writes(2, 1);
        q.downgrade(1);
        q.act();
        q.send(3, contender_kind::writer);
        q.contact_lost();
        q.downgrade_unknown(1);
        q.create_unknown(3);
        q.epoch_ended();
        CHECK(q.act() == "");
        q.epoch_began();
        CHECK(q.act() == "sync, read, downgrade 1 " + writer(1, 0));
        // The one whose answer was lost had been done.
        q.children_read({reader(1, 0), writer(2, 1)}, 3, true);
        CHECK(q.act() == "");
        CHECK_FALSE(q.is_orphan(reader(1, 0)));
        q.downgraded(1, true);
        CHECK(q.act() == "shares 1 " + reader(1, 0));
        CHECK(q.contended(contender_kind::reader)); // two writers wait
        q.leave(1);
        CHECK(q.act().find("granted 2") != std::string::npos);
    }

    TEST_CASE("that its caller leaves meanwhile ends with the node, whichever that is")
    {
        for (const bool done : {true, false}) {
            shared_driver q;
            q.hold_as_writer();
            q.reads(2, 1);
            q.downgrade(1);
            q.act();
            q.leave(1);
            CHECK(q.act() == "");
            if (done)
                q.downgraded(1);
            else
                q.downgrade_refused(1);
            CHECK(q.act() == "remove 1 " + (done ? reader(1, 0) : writer(1, 0)) + (done ? " later" : "") + ", granted 2");
            q.removed(1);
            CHECK(q.act() == "gone 1");
        }
    }

    TEST_CASE("its place is none of a parent that was made again meanwhile")
    {
        shared_driver q;
        q.epoch_began();
        q.writes(1, 2);
        CHECK(q.act() == "parent");
        q.parent_watched(1, 3, driver::czxid_of(2));
        CHECK(q.act() == "granted 1");
        q.downgrade(1);
        CHECK(q.act() == "downgrade 1 " + writer(1, 2));
        for (int id : {2, 3, 4})
            q.send(static_cast<contender_id>(id), contender_kind::writer);
        for (int id : {2, 3, 4}) // in one transaction, say: their numbers have begun again
            q.created(static_cast<contender_id>(id), writer(id, id - 2), id - 2);
        for (int id : {2, 3, 4})
            CHECK(q.contender_of(writer(id, id - 2)) == static_cast<contender_id>(id));
        q.downgrade_lost(1);
        CHECK(q.act().find("lost 1") != std::string::npos);
    }

    TEST_CASE("that was never sent is not sent for one who has left, or whose lease has ended")
    {
        for (const bool lapsed : {true, false}) {
            shared_driver q;
            q.hold_as_writer();
            q.epoch_ended();
            q.downgrade(1);
            CHECK(q.act() == "");
            if (lapsed)
                CHECK(q.lapse() == std::vector<contender_id>{1});
            else
                q.leave(1);
            CHECK(q.act() == "");
            q.epoch_began();
            CHECK(q.act() == "remove 1 " + writer(1, 0));
            q.removed(1);
            CHECK(q.act() == "gone 1");
            CHECK(q.idle());
        }
        // Once it was sent, nobody knows which node it is.
        shared_driver q;
        q.hold_as_writer();
        q.downgrade(1);
        q.act();
        q.contact_lost();
        q.downgrade_unknown(1);
        q.epoch_ended();
        q.leave(1);
        q.epoch_began();
        CHECK(q.act() == "downgrade 1 " + writer(1, 0));
        q.downgraded(1, true);
        CHECK(q.act() == "remove 1 " + reader(1, 0));
    }

    TEST_CASE("does not outlive the lease or the session")
    {
        shared_driver q;
        q.hold_as_writer();
        q.downgrade(1);
        q.act();
        CHECK(q.lapse() == std::vector<contender_id>{1});
        CHECK(q.lapse().empty());
        q.downgraded(1);
        CHECK(q.act() == "remove 1 " + reader(1, 0));

        shared_driver p;
        p.hold_as_writer();
        p.downgrade(1);
        p.act();
        p.contact_lost();
        p.downgrade_unknown(1);
        p.epoch_ended();
        p.session_ended();
        CHECK(p.act() == "lost 1");
        CHECK(p.idle());
    }
}
