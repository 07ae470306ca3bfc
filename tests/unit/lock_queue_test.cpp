#include "queue/lock_queue.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

using namespace zklock::queue;

namespace {

std::string ours(int id, int sequence)
{
    char text[64];
    std::snprintf(text, sizeof text, "_c_%d-lock-%010d", id, sequence);
    return text;
}

std::string foreign(int sequence)
{
    char text[64];
    std::snprintf(text, sizeof text, "_c_x-lock-%010d", sequence);
    return text;
}

/// A queue whose actions read as text: "read", "watch <node>", "granted 1", …
struct driver : lock_queue {
    std::string act(bool lease_fresh = true)
    {
        static constexpr const char* names[] = {"sync",   "read",    "inspect", "watch", "unwatch",
                                                "remove", "granted", "refused", "lost",  "gone"};
        std::string text;
        for (const action& a : next(lease_fresh)) {
            text += text.empty() ? "" : ", ";
            text += names[static_cast<int>(a.what)];
            if (a.id != 0)
                text += " " + std::to_string(a.id);
            if (!a.node.empty())
                text += " " + a.node;
        }
        return text;
    }

    void send_creates()
    {
        while (const contender_id id = next_to_create())
            create_sent(id, "_c_" + std::to_string(id) + "-lock-");
    }

    void join_and_send(contender_id id, bool look_once = false)
    {
        join(id, look_once);
        send_creates();
    }

    /// Contender 1 waits behind a foreign node 0, with both watches confirmed.
    void wait_behind_foreign()
    {
        epoch_began();
        join_and_send(1);
        CHECK(act() == "read");
        created(1, ours(1, 1), 1);
        children_read({ours(1, 1), foreign(0)}, true);
        CHECK(act() == "watch " + ours(1, 1) + ", watch " + foreign(0));
        watched(ours(1, 1));
        watched(foreign(0));
        CHECK(act() == "");
    }

    /// Contender 1 holds, alone.
    void hold()
    {
        epoch_began();
        join_and_send(1);
        CHECK(act() == "read");
        created(1, ours(1, 0), 0);
        children_read({ours(1, 0)}, true);
        CHECK(act() == "granted 1");
    }
};

} // namespace

TEST_SUITE("lock queue")
{
    TEST_CASE("an uncontended acquire takes a create and a read, sent together; a release one delete")
    {
        driver q;
        CHECK(q.next_to_create() == 0);
        q.hold();
        q.leave(1);
        CHECK(q.act() == "remove 1 " + ours(1, 0));
        CHECK_FALSE(q.idle());
        q.removed(1);
        CHECK(q.act() == "gone 1");
        CHECK(q.idle());
    }

    TEST_CASE("nothing is granted without coverage, and nothing without a fresh lease")
    {
        driver q;
        q.epoch_began();
        q.join_and_send(1);
        CHECK(q.act() == "read");
        q.created(1, ours(1, 0), 0);
        CHECK(q.act() == "");
        q.children_read({ours(1, 0)}, true);
        CHECK(q.act(false) == "");
        CHECK(q.act(true) == "granted 1");
    }

    TEST_CASE("a read that was sent before the create covers nothing")
    {
        driver q;
        q.hold();
        q.join_and_send(2);
        CHECK(q.act() == "read");
        q.join_and_send(3);
        CHECK(q.act() == "");
        q.created(2, ours(2, 1), 1);
        q.children_read({ours(1, 0), ours(2, 1)}, true);
        q.created(3, ours(3, 2), 2);
        CHECK(q.act() == "");
        q.leave(1);
        CHECK(q.act() == "read, remove 1 " + ours(1, 0) + ", granted 2"); // the read is for the third
        q.leave(2);
        CHECK(q.act() == "remove 2 " + ours(2, 1));
        q.removed(1);
        q.children_read({ours(2, 1), ours(3, 2)}, true);
        CHECK(q.act() == "gone 1, granted 3");
    }

    TEST_CASE("the waiters of one client follow each other with no watch, and one read serves them all")
    {
        driver q;
        q.hold();
        std::vector<std::string> all{ours(1, 0)};
        for (int id = 2; id <= 100; ++id) {
            q.join_and_send(id);
            all.push_back(ours(id, id - 1));
        }
        CHECK(q.act() == "read");
        for (int id = 2; id <= 100; ++id)
            q.created(id, ours(id, id - 1), id - 1);
        q.children_read(all, true);
        CHECK(q.act() == "");
        for (int id = 1; id < 100; ++id) {
            q.leave(id);
            CHECK(q.act() == "remove " + std::to_string(id) + " " + ours(id, id - 1) + ", granted " + std::to_string(id + 1));
        }
    }

    TEST_CASE("whoever is deleted while it waits for us is not granted: its own node is watched")
    {
        driver q;
        q.wait_behind_foreign();
        q.node_gone(ours(1, 1));
        q.send_creates(); // at the tail
        CHECK(q.act() == "read");
        q.created(1, ours(1, 5), 5);
        q.children_read({foreign(0), ours(1, 5)}, true);
        CHECK(q.act() == "watch " + ours(1, 5)); // the foreign node's watch is still there
        q.node_gone(foreign(0));
        CHECK(q.act() == "");
        q.watched(ours(1, 5));
        CHECK(q.act() == "granted 1");
    }

    TEST_CASE("the predecessor's deletion is the grant when it was the only one")
    {
        driver q;
        q.wait_behind_foreign();
        q.node_gone(foreign(0));
        CHECK(q.act() == "granted 1");
    }

    TEST_CASE("when the predecessor was not the only one, one read tells who is before us now")
    {
        driver q;
        q.epoch_began();
        q.join_and_send(1);
        CHECK(q.act() == "read");
        q.created(1, ours(1, 9), 9);
        q.children_read({foreign(1), foreign(3), foreign(5), ours(1, 9), foreign(12)}, true);
        CHECK(q.act() == "watch " + ours(1, 9) + ", watch " + foreign(5));
        q.watched(ours(1, 9));
        q.watched(foreign(5));
        q.node_gone(foreign(5));
        CHECK(q.act() == "read");
        CHECK(q.act() == "");
        q.children_read({foreign(1), ours(1, 9), foreign(12)}, true);
        CHECK(q.act() == "watch " + foreign(1));
        q.node_gone(foreign(1)); // already gone when the watch was to be set
        CHECK(q.act() == "granted 1");
    }

    TEST_CASE("an event other than deleted only arms the watch again")
    {
        driver q;
        q.wait_behind_foreign();
        q.watch_fired(foreign(0));
        CHECK(q.act() == "watch " + foreign(0));
        q.watched(foreign(0));
        q.watch_fired(ours(1, 1));
        q.node_gone(foreign(0));
        CHECK(q.act() == "watch " + ours(1, 1)); // not granted before that is confirmed
        q.watched(ours(1, 1));
        CHECK(q.act() == "granted 1");
    }

    TEST_CASE("a cancelled waiter's watch is taken over by the next, or taken off")
    {
        driver q;
        q.wait_behind_foreign();
        q.join_and_send(2);
        CHECK(q.act() == "");
        q.created(2, ours(2, 2), 2);
        q.leave(1);
        CHECK(q.act() == "read, remove 1 " + ours(1, 1));
        q.children_read({foreign(0), ours(1, 1), ours(2, 2)}, true);
        CHECK(q.act() == "watch " + ours(2, 2));
        q.removed(1);
        q.watched(ours(2, 2));
        CHECK(q.act() == "gone 1");
        q.leave(2);
        CHECK(q.act() == "remove 2 " + ours(2, 2) + ", unwatch " + foreign(0));
        q.removed(2);
        CHECK(q.act() == "gone 2");
        CHECK_FALSE(q.idle());
        q.unwatched(foreign(0));
        CHECK(q.idle());
    }

    TEST_CASE("a watch wanted again while it is being taken off is armed again after that")
    {
        driver q;
        q.wait_behind_foreign();
        q.leave(1);
        CHECK(q.act() == "remove 1 " + ours(1, 1) + ", unwatch " + foreign(0));
        q.join_and_send(2);
        CHECK(q.act() == "read");
        q.created(2, ours(2, 2), 2);
        q.children_read({foreign(0), ours(2, 2)}, true);
        CHECK(q.act() == "watch " + ours(2, 2) + ", gone 1");
        q.unwatched(foreign(0));
        CHECK(q.act() == "watch " + foreign(0));
    }

    TEST_CASE("a number lower than an earlier one of ours: the parent is another, and all known nodes are gone")
    {
        driver q;
        q.hold();
        q.join_and_send(2);
        CHECK(q.act() == "read");
        q.created(2, ours(2, 1), 1);
        q.children_read({ours(1, 0), ours(2, 1)}, true);
        q.join_and_send(3);
        q.created(3, ours(3, 1), 1);
        q.send_creates();
        CHECK(q.act() == "read, lost 1");
        q.created(2, ours(2, 2), 2);
        q.children_read({foreign(0), ours(3, 1), ours(2, 2)}, true);
        CHECK(q.act() == "watch " + ours(3, 1) + ", watch " + foreign(0));
    }

    TEST_CASE("a foreign contender between two of ours is waited for")
    {
        driver q;
        q.hold();
        q.join_and_send(2);
        CHECK(q.act() == "read");
        q.created(2, ours(2, 2), 2);
        q.children_read({ours(1, 0), foreign(1), ours(2, 2)}, true);
        CHECK(q.act() == "watch " + ours(2, 2) + ", watch " + foreign(1));
        q.watched(ours(2, 2));
        q.watched(foreign(1));
        q.leave(1);
        CHECK(q.act() == "remove 1 " + ours(1, 0));
        q.node_gone(foreign(1));
        CHECK(q.act() == "granted 2"); // our own released node below does not count
    }

    TEST_CASE("children that are no contenders are ignored, foreign ones before us are not, whatever their prefix")
    {
        driver q;
        q.epoch_began();
        q.join_and_send(1);
        CHECK(q.act() == "read");
        q.created(1, ours(1, 3), 3);
        q.children_read({"config", "leaf-0000000000", "ab__lock__0000000002", ours(1, 3), "lock-0000000001"}, true);
        CHECK(q.act() == "watch " + ours(1, 3) + ", watch ab__lock__0000000002");
    }

    TEST_CASE("cancelled while its create is under way, a contender is deleted when the answer comes")
    {
        driver q;
        q.epoch_began();
        q.join_and_send(1);
        CHECK(q.act() == "read");
        q.leave(1);
        CHECK(q.act() == "");
        CHECK_FALSE(q.contended());
        q.created(1, ours(1, 0), 0);
        CHECK(q.act() == "remove 1 " + ours(1, 0));
        q.children_read({ours(1, 0)}, true);
        CHECK(q.act() == "");
        q.removed(1);
        CHECK(q.act() == "gone 1");
    }

    TEST_CASE("a refused create leaves nothing")
    {
        driver q;
        q.epoch_began();
        q.join_and_send(1);
        CHECK(q.act() == "read");
        q.create_failed(1);
        CHECK(q.next_to_create() == 1);
        q.leave(1);
        CHECK(q.act() == "gone 1");
    }
}

TEST_SUITE("lock queue, one look")
{
    TEST_CASE("is granted when nobody is before it")
    {
        driver q;
        q.epoch_began();
        q.join_and_send(1, true);
        CHECK(q.act() == "read");
        q.created(1, ours(1, 0), 0);
        q.children_read({ours(1, 0)}, true);
        CHECK(q.act() == "granted 1");
    }

    TEST_CASE("is refused when a foreign contender is before it")
    {
        driver q;
        q.epoch_began();
        q.join_and_send(1, true);
        CHECK(q.act() == "read");
        q.created(1, ours(1, 1), 1);
        q.children_read({foreign(0), ours(1, 1)}, true);
        CHECK(q.act() == "remove 1 " + ours(1, 1) + ", refused 1");
        q.removed(1);
        CHECK(q.act() == "gone 1");
        CHECK(q.idle());
    }

    TEST_CASE("is refused behind one of ours, who may wait")
    {
        driver q;
        q.hold();
        q.join_and_send(2, true);
        q.act();
        q.created(2, ours(2, 1), 1);
        CHECK(q.act() == "remove 2 " + ours(2, 1) + ", refused 2");
    }

    TEST_CASE("sees from a list whether it is worth a write")
    {
        driver q;
        q.hold();
        CHECK(q.busy({ours(1, 0)}));
        q.leave(1);
        CHECK_FALSE(q.busy({ours(1, 0)}));
        CHECK_FALSE(q.busy({"config"}));
        CHECK(q.busy({ours(1, 0), foreign(3)}));
    }
}

TEST_SUITE("lock queue, connection lost")
{
    TEST_CASE("after the first lost answer nothing is sent before the next epoch")
    {
        driver q;
        q.hold();
        q.join_and_send(2);
        CHECK(q.act() == "read");
        q.contact_lost();
        q.create_unknown(2);
        CHECK(q.act() == "");
        q.read_failed();
        q.join(3, false);
        q.leave(1);
        CHECK(q.next_to_create() == 0);
        CHECK(q.act() == "");
        q.epoch_ended();
        q.epoch_began();
        CHECK(q.act() == "sync, read, remove 1 " + ours(1, 0));
    }

    TEST_CASE("a create of unknown outcome is looked for after a sync, before any other create")
    {
        driver q;
        q.epoch_began();
        q.join_and_send(1);
        CHECK(q.act() == "read");
        q.create_unknown(1);
        q.read_failed();
        q.epoch_ended();
        q.join(2, false);
        q.epoch_began();
        CHECK(q.next_to_create() == 0);
        CHECK(q.act() == "sync, read");

        SUBCASE("found: adopted, if it is of this session")
        {
            q.children_read({ours(1, 4)}, true);
            CHECK(q.act() == "inspect 1 " + ours(1, 4));
            q.inspected(1, ours(1, 4), true);
            CHECK(q.act() == "granted 1");
            CHECK(q.node(1) == ours(1, 4));
            CHECK(q.next_to_create() == 2);
        }
        SUBCASE("found, but gone when it is read: created again")
        {
            q.children_read({ours(1, 4)}, true);
            CHECK(q.act() == "inspect 1 " + ours(1, 4));
            q.node_gone(ours(1, 4));
            CHECK(q.next_to_create() == 1);
        }
        SUBCASE("found, but of another session: left alone, and waited for")
        {
            q.children_read({ours(1, 4)}, true);
            CHECK(q.act() == "inspect 1 " + ours(1, 4));
            q.inspected(1, ours(1, 4), false);
            q.send_creates();
            CHECK(q.act() == "read");
        }
        SUBCASE("not found: created again, in its old turn")
        {
            q.children_read({}, true);
            CHECK(q.next_to_create() == 1);
        }
        SUBCASE("not found, but the sync failed: looked for again")
        {
            q.children_read({}, false);
            CHECK(q.next_to_create() == 0);
            CHECK(q.act() == "sync, read");
        }
        SUBCASE("abandoned and found: deleted")
        {
            q.leave(1);
            q.children_read({ours(1, 4)}, true);
            CHECK(q.act() == "remove 1 " + ours(1, 4));
        }
        SUBCASE("abandoned and not found: forgotten")
        {
            q.leave(1);
            q.children_read({foreign(4)}, true);
            CHECK(q.act() == "gone 1");
        }
        SUBCASE("cut again before the answer: looked for again")
        {
            q.read_failed();
            q.epoch_ended();
            q.epoch_began();
            CHECK(q.act() == "sync, read");
        }
        SUBCASE("cut again while it is inspected: looked for again")
        {
            q.children_read({ours(1, 4)}, true);
            CHECK(q.act() == "inspect 1 " + ours(1, 4));
            q.inspect_unknown(1);
            q.epoch_ended();
            q.epoch_began();
            CHECK(q.act() == "sync, read");
            q.children_read({ours(1, 4)}, true);
            CHECK(q.act() == "inspect 1 " + ours(1, 4));
        }
        SUBCASE("cut while it is inspected: its node still counts for who is behind it")
        {
            q.children_read({ours(1, 4)}, true);
            q.send_creates();
            CHECK(q.act() == "inspect 1 " + ours(1, 4) + ", read");
            q.created(2, ours(2, 5), 5);
            q.children_read({ours(1, 4), ours(2, 5)}, true);
            q.contact_lost();
            q.inspect_unknown(1);
            CHECK(q.act() == "");
        }
        SUBCASE("the session ended: forgotten with it, and created again")
        {
            q.read_failed();
            q.epoch_ended();
            q.session_ended();
            q.epoch_began();
            CHECK(q.next_to_create() == 1);
            q.send_creates();
            CHECK(q.act() == "read");
            q.created(1, ours(1, 5), 5);
            q.created(2, ours(2, 6), 6);
            q.children_read({ours(1, 4), ours(1, 5), ours(2, 6)}, true);
            CHECK(q.act() == "watch " + ours(1, 5) + ", watch " + ours(1, 4)); // the old session's node is foreign now
        }
    }

    TEST_CASE("watches are armed again, and what went meanwhile is found out")
    {
        driver q;
        q.wait_behind_foreign();
        q.epoch_ended();
        CHECK(q.act() == "");
        q.epoch_began();
        CHECK(q.act() == "watch " + ours(1, 1) + ", watch " + foreign(0));
        q.watched(ours(1, 1));
        q.node_gone(foreign(0));
        CHECK(q.act() == "granted 1");
    }

    TEST_CASE("a holder goes on holding, and hands over to its neighbour without the network")
    {
        driver q;
        q.hold();
        q.join_and_send(2);
        CHECK(q.act() == "read");
        q.created(2, ours(2, 1), 1);
        q.children_read({ours(1, 0), ours(2, 1)}, true);
        CHECK(q.act() == "");
        q.epoch_ended();
        q.leave(1);
        CHECK(q.act() == "granted 2");
        q.epoch_began();
        CHECK(q.act() == "remove 1 " + ours(1, 0));
    }

    TEST_CASE("unfinished deletes are sent again until one is done")
    {
        driver q;
        q.hold();
        q.leave(1);
        CHECK(q.act() == "remove 1 " + ours(1, 0));
        q.remove_failed(1);
        CHECK(q.act() == "");
        q.epoch_ended();
        q.epoch_began();
        CHECK(q.act() == "remove 1 " + ours(1, 0));
        q.remove_failed(1);
        q.retry_remove(1);
        CHECK(q.act() == "remove 1 " + ours(1, 0));
        q.removed(1);
        CHECK(q.act() == "gone 1");
    }

    TEST_CASE("a long holder's node is watched, in each epoch, and its deletion by others is a loss")
    {
        driver q;
        q.hold();
        q.hold_on(1);
        CHECK(q.act() == "watch " + ours(1, 0));
        q.watched(ours(1, 0));
        q.epoch_ended();
        q.epoch_began();
        CHECK(q.act() == "watch " + ours(1, 0));
        q.node_gone(ours(1, 0));
        CHECK(q.act() == "lost 1");
        CHECK(q.idle());
    }

    TEST_CASE("after others have deleted one of ours, the next is granted only when it has seen its own")
    {
        driver q;
        q.hold();
        q.join_and_send(2);
        CHECK(q.act() == "read");
        q.created(2, ours(2, 1), 1);
        q.children_read({ours(1, 0), ours(2, 1)}, true);
        q.hold_on(1);
        CHECK(q.act() == "watch " + ours(1, 0));
        q.node_gone(ours(1, 0));
        CHECK(q.act() == "watch " + ours(2, 1) + ", lost 1");
        q.watched(ours(2, 1));
        CHECK(q.act() == "granted 2");
    }

    TEST_CASE("a node of ours that a list no longer shows is gone")
    {
        driver q;
        q.hold();
        q.join_and_send(2);
        CHECK(q.act() == "read");
        q.created(2, ours(2, 1), 1);
        q.children_read({ours(2, 1)}, true);
        CHECK(q.act() == "lost 1, granted 2");
    }
}

TEST_SUITE("lock queue, session and lease")
{
    TEST_CASE("at the session's end holders are lost, waiters queue again in their order, what was leaving is gone")
    {
        driver q;
        q.hold();
        for (int id = 2; id <= 4; ++id)
            q.join_and_send(id);
        CHECK(q.act() == "read");
        q.created(2, ours(2, 1), 1);
        q.created(3, ours(3, 2), 2);
        q.leave(3);
        CHECK(q.act() == "remove 3 " + ours(3, 2));
        q.create_unknown(4);
        q.read_failed();
        q.remove_failed(3);
        q.epoch_ended();
        q.session_ended();
        CHECK(q.act() == "lost 1, gone 3");
        q.epoch_began();
        CHECK(q.next_to_create() == 2);
        q.send_creates();
        CHECK(q.act() == "read");
        q.created(2, ours(2, 7), 7);
        q.created(4, ours(4, 8), 8);
        q.children_read({ours(1, 0), ours(2, 7), ours(4, 8)}, true);
        CHECK(q.act() == "watch " + ours(2, 7) + ", watch " + ours(1, 0)); // the dead session's nodes count until they go
    }

    TEST_CASE("when the lease ends the holder leaves, and nobody follows before it is fresh again")
    {
        driver q;
        q.hold();
        q.join_and_send(2);
        CHECK(q.act() == "read");
        q.created(2, ours(2, 1), 1);
        q.children_read({ours(1, 0), ours(2, 1)}, true);
        CHECK(q.lapse() == std::vector<contender_id>{1});
        CHECK(q.act(false) == "remove 1 " + ours(1, 0));
        CHECK(q.act(true) == "granted 2");
    }

    TEST_CASE("a refused look-up is not asked for again at once")
    {
        driver q;
        q.epoch_began();
        q.join_and_send(1);
        CHECK(q.act() == "read");
        q.contact_lost();
        q.create_unknown(1);
        q.read_failed();
        q.epoch_ended();
        q.epoch_began();
        CHECK(q.act() == "sync, read");
        q.read_refused();
        q.leave(1);
        CHECK(q.act() == "");
        q.look_up_again();
        CHECK(q.act() == "sync, read");
        q.read_refused();
        q.epoch_ended();
        q.epoch_began();
        CHECK(q.act() == "sync, read");
        q.children_read({ours(1, 4)}, true);
        CHECK(q.act() == "remove 1 " + ours(1, 4));
    }

    TEST_CASE("many that give up in turn cost no more than each its delete")
    {
        constexpr int waiters = 30'000;
        driver q;
        q.epoch_began();
        std::vector<std::string> names{foreign(0)};
        for (int i = 1; i <= waiters; ++i) {
            q.join_and_send(static_cast<contender_id>(i));
            names.push_back(ours(i, i));
        }
        CHECK(q.act() == "read");
        for (int i = 1; i <= waiters; ++i)
            q.created(static_cast<contender_id>(i), names[static_cast<std::size_t>(i)], i);
        q.children_read(names, true);
        const auto begun = std::chrono::steady_clock::now();
        std::size_t removes = 0;
        for (int i = 1; i <= waiters; ++i) {
            q.leave(static_cast<contender_id>(i));
            for (const action& a : q.next(true))
                removes += a.what == action::kind::remove;
        }
        CHECK(removes == waiters);
        CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(5)); // going over all that left: minutes
    }

    TEST_CASE("counts who contends and who has a node")
    {
        driver q;
        CHECK_FALSE(q.contended());
        q.epoch_began();
        q.join(1, false);
        CHECK(q.contended());
        CHECK_FALSE(q.has_node());
        q.send_creates();
        CHECK(q.has_node());
        q.created(1, ours(1, 0), 0);
        q.leave(1);
        CHECK_FALSE(q.has_node());
        CHECK_FALSE(q.contended());
    }
}
