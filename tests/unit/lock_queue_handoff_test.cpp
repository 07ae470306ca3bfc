// Nodes that others have let go, and say so themselves; and which of our own may be told to others.
#include "lock_queue_driver.hpp"

using namespace zklock::queue;
using namespace zklock::unit;

namespace {

/// What a step decides, and whether others may be told of a node that is to be deleted.
struct telling_driver : driver {
    using driver::driver;

    /// The nodes of `id` that are to be deleted now: "told", "not told", or empty if there is none.
    std::string told(contender_id id, bool lease_renewable = true)
    {
        for (const action& a : next(lease_renewable))
            if (a.what == action::kind::remove && a.id == id)
                return a.by_own_will ? "told" : "not told";
        return {};
    }
};

} // namespace

TEST_CASE("a node that was let go is in nobody's way, and its deletion is no news")
{
    driver q;
    q.wait_behind_foreign().lets_go(foreign(0)).does("granted 1 over let go");
    CHECK(q.known().places().passed_over() == 1);
    CHECK_FALSE(q.certified(foreign(0)));
    q.node_gone(foreign(0));
    CHECK(q.known().places().passed_over() == 0);
    q.does("");
}

TEST_CASE("only a node of another client that is in the view is let go, by its name")
{
    driver q;
    q.wait_behind_foreign();
    CHECK_FALSE(q.certified(ours(1, 1)));
    CHECK_FALSE(q.certified(foreign(7)));
    CHECK_FALSE(q.certified("_c_y-lock-0000000000"));
    CHECK_FALSE(q.certified("nonsense"));
    q.does("");
}

TEST_CASE("lower nodes still count")
{
    driver q;
    q.epoch_began().join_and_send(1).does("parent");
    q.enqueued(1, 9).parent_watched(3, 10, driver::czxid_of(9)).does("read");
    q.children_read({foreign(3), foreign(5), ours(1, 9)}, 10, true);
    q.does("watch " + ours(1, 9) + ", watch " + foreign(5) + ", watch " + foreign(3));
    for (const std::string& node : {ours(1, 9), foreign(5), foreign(3)})
        q.watched(node);
    q.lets_go(foreign(5)).does("");
    SUBCASE("until they are let go") {
        q.lets_go(foreign(3)).does("granted 1 over let go");
        CHECK(q.known().places().passed_over() == 2);
    }
    SUBCASE("until they are gone") {
        q.node_gone(foreign(3)).does("granted 1 over let go");
        CHECK(q.known().places().passed_over() == 1);
    }
}

TEST_CASE("a list does not bring it back, and forgets it when it is not there any more")
{
    driver q;
    q.wait_behind_foreign().lets_go(foreign(0)).does("granted 1 over let go");
    q.join_and_send(2).enqueued(2, 3); // somebody is between
    q.does("read");
    q.leave(1).does("remove 1 " + ours(1, 1));
    SUBCASE("there") {
        q.children_read({foreign(0), ours(1, 1), ours(2, 3)}, 4, true);
        CHECK(q.known().places().passed_over() == 1);
        q.does("granted 2 over let go");
    }
    SUBCASE("gone") {
        q.children_read({ours(1, 1), ours(2, 3)}, 4, true);
        CHECK(q.known().places().passed_over() == 0);
        q.does("granted 2");
    }
}

TEST_CASE("a list that shows our own node says, in its step, that it is there")
{
    driver q;
    q.begin_behind_somebody().children_read({ours(1, 1), foreign(0)}, 2, true);
    CHECK(q.known().others_before_ours(8) == std::vector<std::string>{foreign(0)});
    q.lets_go(foreign(0));
    SUBCASE("the step")
        q.does("granted 1 over let go");
    SUBCASE("a step in which the lease was not fresh, and the next") {
        CHECK(q.act(false) == "");
        q.does("watch " + ours(1, 1));
        q.watched(ours(1, 1)).does("granted 1 over let go");
    }
}

TEST_CASE("a list that was asked for before our create does not")
{
    driver q;
    q.begin_behind_somebody().join_and_send(2).leave(1).does("read, remove 1 " + ours(1, 1));
    q.children_read({ours(1, 1), foreign(0)}, 2, true).enqueued(2, 2).lets_go(foreign(0)).does("watch " + ours(2, 2));
}

TEST_CASE("nobody is granted over it whose own node is not watched: others may have deleted that")
{
    driver q;
    q.begin_behind_somebody();
    q.children_read({ours(1, 1), foreign(0)}, 2, true).does("watch " + ours(1, 1) + ", watch " + foreign(0));
    q.lets_go(foreign(0)).does("");
    SUBCASE("it is there") {
        q.watched(ours(1, 1)).does("granted 1 over let go");
    }
    SUBCASE("it is gone") {
        q.node_gone(ours(1, 1)).does("");
    }
}

TEST_CASE("nor without a connection, or a fresh lease")
{
    driver q;
    q.wait_behind_foreign().lets_go(foreign(0));
    SUBCASE("an answer was lost") {
        q.contact_lost().does("");
        q.epoch_ended().does("");
        q.epoch_began().does("read");
        q.children_read({foreign(0), ours(1, 1)}, 2, false).does("watch " + ours(1, 1));
        q.watched(ours(1, 1));
    }
    SUBCASE("no lease")
        CHECK(q.act(false) == "");
    q.does("granted 1 over let go");
}

TEST_CASE("one of ours is not passed over")
{
    driver q;
    q.wait_behind_foreign().join_and_send(2).enqueued(2, 2).lets_go(foreign(0)).does("granted 1 over let go");
    q.does("");
}

TEST_CASE("with doubts about unwatched nodes before it, it takes a read as the end of a node does")
{
    driver q;
    q.epoch_began().join_and_send(1).does("parent");
    q.enqueued(1, 9).parent_watched(4, 10, driver::czxid_of(9)).does("read");
    q.children_read({foreign(1), foreign(3), foreign(5), ours(1, 9)}, 10, true).acts();
    for (const std::string& node : {ours(1, 9), foreign(5), foreign(3)})
        q.watched(node);
    q.lets_go(foreign(3)).does("read");
    q.children_read({foreign(3), foreign(5), ours(1, 9)}, 10, true); // 3 is still listed, 1 is not
    q.does("");
    q.node_gone(foreign(5)).does("granted 1 over let go");
}

TEST_CASE("it is forgotten with the session, and with the parent")
{
    driver q;
    q.wait_behind_foreign().lets_go(foreign(0)).does("granted 1 over let go");
    CHECK(q.known().places().passed_over() == 1);
    SUBCASE("parent")
        q.parent_absent();
    SUBCASE("session")
        q.epoch_ended().session_ended();
    SUBCASE("only ours remain")
        q.parent_watched(1, 2, driver::czxid_of(1));
    CHECK(q.known().places().passed_over() == 0);
}

TEST_CASE("it is nobody before one that looks once")
{
    driver q;
    q.wait_behind_foreign();
    CHECK(q.known().busy({foreign(0)}));
    q.lets_go(foreign(0));
    CHECK_FALSE(q.known().busy({foreign(0)}));
}

TEST_CASE("a writer that was let go raises the doubt of its end")
{
    driver q;
    q.epoch_began().writes(1, 1).does("parent");
    q.parent_watched(2, 2, driver::czxid_of(1)).does("read");
    q.children_read({foreign_writer(0), writer(1, 1)}, 2, true);
    q.does("watch " + writer(1, 1) + ", watch " + foreign_writer(0));
    q.watched(writer(1, 1)).watched(foreign_writer(0)).lets_go(foreign_writer(0)).does("read");
    q.children_read({foreign_writer(0), writer(1, 1)}, 2, true).does("granted 1 over let go");
}

TEST_CASE("of a downgrade others are told nothing, before the reader lets go")
{
    driver q;
    q.hold_as_writer().downgrade(1);
    const auto told = [&q](contender_id id) {
        const std::vector<action>& all = q.next(true);
        const auto removes = [id](const action& a) { return a.what == action::kind::remove && a.id == id; };
        const auto found = std::find_if(all.begin(), all.end(), removes);
        REQUIRE(found != all.end());
        return found->by_own_will;
    };
    SUBCASE("given up before it was sent") {
        q.leave(1);
        CHECK_FALSE(told(1));
    }
    SUBCASE("given up while it was sent") {
        q.does("downgrade 1 " + writer(1, 0));
        q.leave(1).downgraded(1);
        CHECK_FALSE(told(1));
    }
    SUBCASE("done") {
        q.does("downgrade 1 " + writer(1, 0));
        q.downgraded(1).does("shares 1 " + reader(1, 0));
        q.leave(1);
        CHECK(told(1));
    }
}

TEST_CASE("others may be told what is left by its own will")
{
    telling_driver q;
    SUBCASE("what was held") {
        q.hold().leave(1);
        CHECK(q.told(1) == "told");
    }
    SUBCASE("a wait") {
        q.wait_behind_foreign().leave(1);
        CHECK(q.told(1) == "told");
    }
    SUBCASE("what was held is lost") {
        q.hold();
        CHECK(q.lapse() == std::vector<contender_id>{1});
        CHECK(q.told(1) == "not told");
    }
    SUBCASE("it was lost in another way") {
        q.hold().leave(1, false);
        CHECK(q.told(1) == "not told");
    }
    SUBCASE("a create that was given up") {
        q.begin_with(1).leave(1).enqueued(1, 0);
        CHECK(q.told(1) == "not told");
    }
}

TEST_CASE("and where nodes linger, when that ends, not before")
{
    telling_driver q({true, 1});
    q.hold().leave(1).does("read and watch, lingers 1");
    q.children_read({ours(1, 0)}, 1, true).does("");
    SUBCASE("it has lingered long enough") {
        q.stop_lingering();
        CHECK(q.told(1) == "told");
    }
    SUBCASE("somebody queues, as the servers tell") {
        q.children_changed();
        CHECK(q.told(1) == "told");
    }
    SUBCASE("somebody waits, as he tells himself") {
        q.awaited();
        CHECK(q.told(1) == "told");
    }
    SUBCASE("the lease ends") {
        CHECK(q.lapse().empty());
        CHECK(q.told(1) == "not told");
    }
}

TEST_CASE("a node that is awaited does not linger at all")
{
    telling_driver q({true, 1});
    q.hold().awaited().leave(1);
    CHECK(q.told(1) == "told");
}

TEST_CASE("where numbers are scarce, one that was let go still keeps the parent")
{
    driver q({}, 2);
    q.wait_behind_foreign().lets_go(foreign(0)).does("granted 1 over let go");
    q.leave(1).join(2, false).does("remove 1 " + ours(1, 1));
    q.removed(1).does("remove parent, gone 1");
    q.parent_occupied().does("read");
    q.children_read({foreign(0)}, 2, true).does("");
    q.node_gone(foreign(0)).does("remove parent");
}
