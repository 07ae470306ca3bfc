// A session that goes on, and what the servers have to know of what it wrote.
#include "own_writes_scene.hpp"

using namespace zklock::unit;

namespace {

/// Numbers of transactions, as servers give them that have elected so many leaders.
constexpr std::int64_t zxid(std::int64_t leader, std::int64_t n)
{
    return leader << 32 | n;
}

struct compare_scene : connected_scene {
    compare_scene() { first_czxid = zxid(3, 100); }

    /// Four wait behind the holder of /p. The last two are of one transaction, whose number is not told.
    void enqueue_four()
    {
        for (int i = 0; i < 4; ++i)
            acquire("/p");
        asked(*this).to("create /p/" + prefix(2)).number(zxid(3, 101), 1);
        asked(*this).to("create /p/" + prefix(3)).number(zxid(3, 102), 2);
        asked(*this).to_batch_of(2).done({"/p/" + node(4, 3), "/p/" + node(5, 4)});
    }
};

} // namespace

TEST_CASE("a node that was made is there: the epoch begins, and no sooner; nor does its word count for the lease")
{
    compare_scene s;
    s.hold("/p", 0);
    s.lose_connection();
    s.clock.pass(4s);
    const auto until_then = s.session->lease().span()->until();
    take_up(s);
    CHECK(s.session->lease().span()->until() == until_then);
    asked(s).only("exists /p/" + s.node(1, 0)).stat(of_this_session(zxid(3, 100)));
    CHECK(trusts(s));
    s.clock.pass(0ms);
    s.answer_syncs();
    CHECK(s.session->lease().span()->until() > until_then);
}
TEST_CASE("a node that was made is missing")
{
    compare_scene s;
    const auto a = s.hold("/p", 0);
    take_up(s);
    asked(s).only("exists /p/" + s.node(1, 0)).ends(outcome::no_node);
    SUBCASE("and nobody has deleted it: the lock is lost before the session is ended") {
        CHECK(s.session->lease().fresh());
        asked(s).only("exists /p").stat(s.fresh(zxid(3, 99)));
        CHECK_FALSE(trusts(s));
        CHECK_FALSE(s.session->lease().fresh());
        s.clock.run();
        CHECK(a->losses == 1);
    }
    SUBCASE("others have deleted it, under the same leader") {
        asked(s).only("exists /p").stat(s.fresh(zxid(3, 101)));
        CHECK(trusts(s));
    }
    SUBCASE("perhaps others have deleted it, under another leader") {
        asked(s).only("exists /p").stat(s.fresh(zxid(4, 1))).only("children /p").list({});
        CHECK_FALSE(trusts(s));
    }
    SUBCASE("with its parent, and nobody has deleted that") {
        asked(s).only("exists /p").ends(outcome::no_node).only("exists /").stat(s.fresh(zxid(3, 99)));
        CHECK_FALSE(trusts(s));
    }
    SUBCASE("with its parent, which others have deleted") {
        asked(s).only("exists /p").ends(outcome::no_node).only("exists /").stat(s.fresh(zxid(3, 101)));
        CHECK(trusts(s));
    }
    SUBCASE("with its parent, which others have perhaps deleted, under another leader") {
        asked(s).only("exists /p").ends(outcome::no_node).only("exists /").stat(s.fresh(zxid(4, 1)));
        CHECK_FALSE(trusts(s));
    }
    SUBCASE("with everything: another chroot, say") {
        asked(s).only("exists /p").ends(outcome::no_node).only("exists /").ends(outcome::no_node);
        CHECK(trusts(s));
    }
}
TEST_CASE("a node is missing whose delete went unanswered: that proves nothing")
{
    compare_scene s;
    const auto a = s.hold("/p", 0);
    s.release(*a);
    take_up(s);
    s.show_gone("/p/" + s.node(1, 0), zxid(4, 1));
    asked(s).only("children /p").list({}); // but others of ours may be back
    CHECK(trusts(s));
}
TEST_CASE("a delete that was asked for twice was done at some time before: that is no later than what is known since")
{
    compare_scene s;
    const auto a = s.hold("/p", 0);
    s.release(*a);
    take_up(s);
    s.show_gone("/p/" + s.node(1, 0), zxid(3, 101));
    asked(s).to("remove /p/" + s.node(1, 0)).ends(outcome::no_node);
    s.hold_and_give_back("/q", 2);
    take_up(s);
    s.show_gone("/q/" + s.node(2, 2), zxid(4, 1));
    asked(s).only("children /q").list({});
    s.show_gone("/p/" + s.node(1, 0), zxid(3, 101));
    CHECK(trusts(s));
}
TEST_CASE("a node that is found gone may have gone before the last write")
{
    compare_scene s;
    s.hold("/p", 0);
    s.hold_and_give_back("/q", 5);
    s.clock.pass(1s);
    asked(s).to("watch /p/" + s.node(1, 0)).ends(outcome::no_node);
    take_up(s);
    s.show_gone("/p/" + s.node(1, 0), zxid(3, 101));
    asked(s).only("exists /q/" + s.node(2, 5)).stat(of_this_session(zxid(3, 105)));
    CHECK_FALSE(trusts(s));
}
TEST_CASE("a node that others had deleted is back")
{
    compare_scene s;
    s.hold("/p", 0);
    SUBCASE("as an event had told: then the server has to catch up first") {
        s.servers.observer->on_node_event(store::event_kind::deleted, "/p/" + s.node(1, 0));
        take_up(s);
        asked(s).only("batch check /").ends(outcome::ok);
    }
    SUBCASE("as an answer had told") {
        s.clock.pass(200ms);
        asked(s).to("watch /p/" + s.node(1, 0)).ends(outcome::no_node);
        take_up(s);
    }
    asked(s).only("exists /p/" + s.node(1, 0)).stat(of_this_session(zxid(3, 100)));
    CHECK_FALSE(trusts(s));
}
TEST_CASE("a parent that others had deleted: nodes below it that are back are looked for")
{
    compare_scene s;
    const auto a = s.hold("/p", 0);
    s.enqueue("/p", 1);
    s.event(store::event_kind::deleted, "/p");
    CHECK(a->losses == 1);
    take_up(s);
    asked(s).only("batch check /").ends(outcome::ok);
    asked(s).to("exists /p/" + s.node(2, 1)).ends(outcome::no_node);
    asked(s).only("exists /p").stat(s.fresh(zxid(3, 102)));
    asked(s).only("children /p").list({s.node(1, 0)}); // which is known by its name
    CHECK_FALSE(trusts(s));
}
TEST_CASE("a node that an answer shows to be gone may have gone before the last write elsewhere: that is asked for")
{
    compare_scene s;
    const auto a = s.hold("/p", 0);
    s.hold_and_give_back("/q", 7);
    s.session->found_gone("/p/" + s.node(1, 0));
    s.clock.run();
    CHECK(a->losses == 1);
    take_up(s);
    s.show_gone("/p/" + s.node(1, 0), zxid(3, 101));
    asked(s).only("exists /q/" + s.node(2, 7)).stat(of_this_session(zxid(3, 102)));
    CHECK_FALSE(trusts(s));
}
TEST_CASE("a parent that others had deleted after the last write elsewhere: it is asked for first")
{
    compare_scene s;
    s.hold("/p", 0);
    s.hold_and_give_back("/q", 7);
    s.event(store::event_kind::deleted, "/p");
    take_up(s);
    asked(s).only("batch check /").ends(outcome::ok);
    asked(s).only("exists /p/" + s.node(1, 0)).stat(of_this_session(zxid(3, 100)));
    CHECK_FALSE(trusts(s));
}
TEST_CASE("a node that was found to be missing, and may be: it is not to be back later")
{
    compare_scene s;
    s.hold("/p", 0);
    take_up(s);
    s.show_gone("/p/" + s.node(1, 0), zxid(3, 101));
    CHECK(trusts(s));
    take_up(s);
    asked(s).only("exists /p/" + s.node(1, 0)).stat(of_this_session(zxid(3, 100)));
    CHECK_FALSE(trusts(s));
}
TEST_CASE("a node that was deleted")
{
    compare_scene s;
    s.hold_and_give_back("/p", 0);
    take_up(s);
    asked look(s);
    look.only("exists /p/" + s.node(1, 0));
    SUBCASE("is back") {
        look.stat(of_this_session(zxid(3, 100)));
        CHECK_FALSE(trusts(s));
    }
    SUBCASE("may not be read") {
        look.ends(outcome::no_auth);
        CHECK_FALSE(trusts(s));
    }
    SUBCASE("is gone: it was made, as its parent says") {
        look.ends(outcome::no_node).only("exists /p").stat(s.fresh(zxid(3, 101)));
        CHECK(trusts(s));
    }
    SUBCASE("is gone: it was never made, as its parent says") {
        look.ends(outcome::no_node).only("exists /p").stat(s.fresh(zxid(3, 99)));
        CHECK_FALSE(trusts(s));
    }
}
TEST_CASE("a parent that was changed under another leader: nodes that should be gone are looked for")
{
    compare_scene s;
    s.hold("/q", 0);
    s.hold_and_give_back("/p", 7);
    take_up(s);
    s.show_gone("/p/" + s.node(2, 7), zxid(4, 5));
    SUBCASE("one is there") {
        asked(s).only("children /p").list({"users-0000000001", s.node(21, 8), s.node(20, 6)});
        asked(s).only("exists /p/" + s.node(20, 6)).stat(of_this_session(zxid(3, 90)));
        CHECK_FALSE(trusts(s));
    }
    SUBCASE("none is: then for the last write at another parent, which is there") {
        asked(s).only("children /p").list({s.node(22, 9), s.node(21, 8), s.node(20, 6)});
        asked(s).only("exists /p/" + s.node(20, 6)).stat(node_of(9, zxid(3, 90)));
        asked(s).all_of({"exists /p/" + s.node(21, 8), "exists /p/" + s.node(22, 9)}); // at once
        asked(s).to("exists /p/" + s.node(21, 8)).stat(node_of(9, zxid(4, 1)));        // nor is any after it
        asked(s).to("exists /p/" + s.node(22, 9)).ends(outcome::no_node);
        asked(s).only("exists /q/" + s.node(1, 0)).stat(of_this_session(zxid(3, 100)));
        CHECK(trusts(s));
    }
}
TEST_CASE("a parent that was changed under another leader, and is without a node that is held")
{
    compare_scene s;
    const auto a = s.hold("/p", 5);
    const auto withdrawn = s.enqueue("/p", 6);
    s.withdraw(*withdrawn);
    asked(s).only("remove /p/" + s.node(2, 6)).ends(outcome::ok);
    take_up(s);
    s.show_gone("/p/" + s.node(2, 6), zxid(4, 5));
    asked(s).only("children /p").list({s.node(20, 5)});
    CHECK_FALSE(trusts(s));
    s.clock.run();
    CHECK(a->losses == 1); // before its session is ended
}
TEST_CASE("a parent that was changed under another leader, and has a node again that was deleted before the last")
{
    compare_scene s;
    s.hold_and_give_back("/p", 7);
    const auto once_more = [&s](int n) { s.give_back(*s.enqueue("/p", n)); };
    SUBCASE("among the last 1,024 of all parents") {
        once_more(8);
        s.hold_and_give_back("/q", 0);
        take_up(s);
        s.show_gone("/q/" + s.node(3, 0), zxid(4, 5));
        asked(s).only("children /q").list({});
        s.show_gone("/p/" + s.node(2, 8), zxid(4, 5));
        asked(s).only("children /p").list({s.node(20, 5), s.node(1, 7)});
        CHECK_FALSE(trusts(s));
    }
    SUBCASE("in a transaction that has deleted another after it") {
        const auto first = s.enqueue("/p", 8);
        const auto second = s.enqueue("/p", 9);
        s.acquire("/q");
        s.acquire("/r");
        s.release(*first); // which gathers, for one of ours is next
        s.release(*second);
        asked(s).to("batch remove /p/" + s.node(3, 9) + ", remove /p/" + s.node(2, 8)).done({});
        asked(s).to("create /q/" + prefix(4)).ends(outcome::no_auth);
        asked(s).to("create /r/" + prefix(5)).ends(outcome::no_auth);
        take_up(s);
        s.show_gone("/p/" + s.node(2, 8), zxid(4, 5));
        asked(s).only("children /p").list({s.node(5000, 5), s.node(3, 9)});
        CHECK_FALSE(trusts(s));
    }
    SUBCASE("others were deleted since: it is asked for whose it is") {
        for (int n = 8; n < 8 + 1024; ++n)
            once_more(n);
        take_up(s);
        s.show_gone("/p/" + s.node(1025, 1031), zxid(4, 5));
        asked(s).only("children /p").list({s.node(5000, 5), s.node(1, 7)});
        asked(s).only("exists /p/" + s.node(5000, 5)).stat(node_of(9, zxid(3, 90)));
        asked(s).only("exists /p/" + s.node(1, 7)).stat(of_this_session(zxid(3, 107)));
        CHECK_FALSE(trusts(s));
    }
}
TEST_CASE("nodes of those who wait, and lost creates, are not taken for such")
{
    compare_scene s;
    s.hold("/p", 5);
    s.enqueue("/p", 6); // it is waited for
    const auto withdrawn = s.enqueue("/p", 7);
    s.acquire("/p");
    CHECK(s.servers.asks("create /p/" + prefix(4))); // whose answer will be lost
    s.withdraw(*withdrawn);
    asked(s).to("remove /p/" + s.node(3, 7)).ends(outcome::ok);
    take_up(s);
    s.show_gone("/p/" + s.node(3, 7), zxid(4, 5));
    asked(s).only("children /p").list({s.node(1, 5), s.node(2, 6), s.node(4, 8)});
    CHECK(trusts(s));
}
TEST_CASE("over a handle that has seen nothing: compared once the server has caught up")
{
    for (const outcome how : {outcome::ok, outcome::no_auth}) { // a transaction that is refused, too
        compare_scene s;
        s.hold("/p", 0);
        take_up(s, true);
        asked(s).only("batch check /").ends(how);
        s.show_gone("/p/" + s.node(1, 0), zxid(3, 99));
        CHECK_FALSE(trusts(s));
    }
}
TEST_CASE("a node of a transaction whose number was not learnt")
{
    compare_scene s;
    s.hold("/p", 0);
    s.enqueue_four();
    take_up(s);
    asked(s).only("exists /p/" + s.node(5, 4)).ends(outcome::no_node);
    SUBCASE("it was not done")
        asked(s).only("exists /p").stat(s.fresh(zxid(3, 102)));
    SUBCASE("nobody can tell: all that are known should be there") {
        asked(s).only("exists /p").stat(s.fresh(zxid(3, 103)));
        asked(s).only("children /p").list({s.node(1, 0), s.node(2, 1), s.node(3, 2)});
    }
    CHECK_FALSE(trusts(s));
}
TEST_CASE("of a session that has ended, nothing is asked for")
{
    compare_scene s;
    s.hold("/p", 0);
    s.lose_connection();
    s.expire();
    s.connect(6, true);
    CHECK_FALSE(s.servers.asks("exists"));
    CHECK(trusts(s));
}
TEST_CASE("a connection that ends before an answer: the next is asked anew; and one that ends after a proof")
{
    compare_scene s;
    s.hold_and_give_back("/p", 0);
    take_up(s);
    take_up(s);
    asked(s).only("exists /p/" + s.node(1, 0)).stat(of_this_session(zxid(3, 100)));
    CHECK_FALSE(trusts(s));
    s.lose_connection();
    s.servers.observer->on_expired();
    s.connect(6, true);
    CHECK(s.session->state() == connection_state::connected);
}
TEST_CASE("nodes of one transaction: the last stands for all")
{
    compare_scene s;
    const auto a = s.hold("/p", 0);
    s.enqueue_four();
    asked(s).to("exists /p/" + s.node(5, 4)).czxid(zxid(3, 103));
    take_up(s);
    asked(s).only("exists /p/" + s.node(5, 4)).ends(outcome::no_node);
    SUBCASE("it was not done") {
        asked(s).only("exists /p").stat(s.fresh(zxid(3, 102)));
        CHECK_FALSE(trusts(s));
    }
    SUBCASE("it was done, and others have deleted the last") {
        asked(s).only("exists /p").stat(s.fresh(zxid(3, 104)));
        CHECK(trusts(s));
    }
    s.clock.run();
    CHECK(a->losses == (s.servers.session_given_up ? 1 : 0));
}
