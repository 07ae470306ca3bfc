// What a session that goes on remembers of writes whose answers were lost.
#include "own_writes_scene.hpp"
#include "semaphore_scene.hpp"

using namespace zklock::unit;

namespace {

constexpr std::int64_t next_leader = std::int64_t{1} << 32;

/// The lock is held; the create of who waits next has been done, and its answer was lost; the list shows its node.
struct found_scene : connected_scene {
    std::shared_ptr<attempt> holder = hold("/p", 0);
    std::shared_ptr<attempt> waiter = acquire("/p");

    found_scene()
    {
        CHECK(servers.pending() == "create /p/" + prefix(2));
        take_up(*this);
        show_first(true);
        CHECK(trusts(*this));
    }
    void find()
    {
        asked(*this).to("sync /").ends(outcome::ok).to("children /p").list({node(1, 0), node(2, 1)}, fresh(101));
        asked(*this).to("watch /p/" + node(2, 1)).show(of_this_session(101));
    }
    void show_first(bool is_there)
    {
        asked look(*this);
        look.only("exists /p/" + node(1, 0));
        is_there ? look.stat(of_this_session(100)) : look.ends(outcome::no_node);
    }
};

/// Who waited has deleted its node; then the holder's was found gone, and when it was deleted is not known. The next
/// connection is there.
struct undated_scene : connected_scene {
    std::shared_ptr<attempt> holder = hold("/p", 0);
    std::shared_ptr<attempt> waiter = acquire("/p");

    undated_scene()
    {
        asked(*this).to("create /p/" + prefix(2)).number(101, 1);
        withdraw(*waiter);
        asked(*this).to("remove /p/" + node(2, 1)).ends(outcome::ok);
        clock.pass(200ms);
        asked(*this).to("watch /p/" + node(1, 0)).ends(outcome::no_node);
        take_up(*this);
        asked(*this).only("exists /p/" + node(1, 0)).ends(outcome::no_node);
    }
};

/// A writer asks to become a reader.
struct downgrade_scene : connected_scene {
    std::shared_ptr<attempt> holder = hold_as_writer("/p");
    std::string writer = node(1, 0, "__WRIT__");

    downgrade_scene()
    {
        CHECK(holder->handle->downgrade([](error_code, const recipes::grant&) {}));
        clock.run();
    }
    /// The next connection shows that the writer's node is gone, and /p changed by that transaction.
    void lose_answer(std::int64_t changed)
    {
        take_up(*this);
        show_gone("/p/" + writer, changed);
        CHECK(trusts(*this));
    }
};

/// The next server is asked what came of a create that nobody wants any more.
void give_up_lost_create(scene& s)
{
    const auto a = s.acquire("/p");
    s.lose_connection();
    s.withdraw(*a);
    s.reappear(true);
    asked(s).to("batch check /").ends(outcome::ok); // which proves the server: nothing will come of it any more
}

/// Likewise, and it shows the holder's node alone. The connection after it is there.
void give_up_lost_create_beside(scene& s, const std::string& held)
{
    give_up_lost_create(s);
    asked(s).only("exists /p/" + held).stat(of_this_session(100));
    asked(s).to("children /p").list({held}, s.fresh(120));
    s.answer_syncs();
    take_up(s);
}

} // namespace

TEST_CASE("a node was found whose create was lost: whatever was written there before, it may not be missing")
{
    for (const bool first_is_there : {true, false})
        for (const std::int64_t changed : {100, 101}) {
            CAPTURE(first_is_there);
            found_scene s;
            s.find();
            if (!first_is_there)
                s.servers.observer->on_node_event(store::event_kind::deleted, "/p/" + s.node(1, 0));
            take_up(s);
            if (!first_is_there)
                asked(s).only("batch check /").ends(outcome::ok);
            s.show_first(first_is_there);
            asked(s).only("exists /p").stat(s.fresh(changed));
            CHECK(trusts(s) == (changed == 101)); // then it is there, or others have deleted it
        }
}
TEST_CASE("perhaps others have deleted a node that was found, under another leader: it is looked for")
{
    for (const bool is_there : {true, false}) {
        found_scene s;
        s.find();
        take_up(s);
        s.show_first(true);
        asked(s).only("exists /p").stat(s.fresh(next_leader + 1));
        std::vector<std::string> names{s.node(1, 0)};
        if (is_there)
            names.push_back(s.node(2, 1));
        asked(s).only("children /p").list(names);
        CHECK(trusts(s) == is_there);
    }
}
TEST_CASE("a node that was found is there: that does not prove what was written elsewhere before it was found")
{
    found_scene s;
    const auto a = s.hold("/q", 7);
    s.release(*a);
    asked(s).to("remove /q/" + s.node(3, 7)).ends(outcome::ok);
    s.find();
    take_up(s);
    s.show_first(true);
    asked(s).only("exists /p").stat(s.fresh(101)).only("exists /q/" + s.node(3, 7)).stat(of_this_session(107));
    CHECK_FALSE(trusts(s));
}
TEST_CASE("a later write at the parent of a node that was found stands for both")
{
    found_scene s;
    s.find();
    s.release(*s.holder);
    asked(s).to("remove /p/" + s.node(1, 0)).ends(outcome::ok);
    take_up(s);
    s.show_first(false);
    SUBCASE("it was not done") {
        asked(s).only("exists /p").stat(s.fresh(101));
        CHECK_FALSE(trusts(s));
    }
    SUBCASE("it was done") {
        asked(s).only("exists /p").stat(s.fresh(102));
        CHECK(trusts(s));
    }
}
TEST_CASE("a list showed that others had deleted a node: it may not be back")
{
    for (const bool is_back : {true, false}) {
        found_scene s;
        asked(s).to("sync /").ends(outcome::ok).to("children /p").list({s.node(2, 1)}, s.fresh(102));
        asked(s).to("watch /p/" + s.node(2, 1)).show(of_this_session(101));
        take_up(s);
        s.show_first(is_back);
        if (!is_back)
            asked(s).only("exists /p").stat(s.fresh(102));
        CHECK(trusts(s) == !is_back);
    }
}
TEST_CASE("one that was found and deleted, because nobody wanted it any more, shows how far the servers were")
{
    for (const std::int64_t changed : {101, 102}) {
        found_scene s;
        s.withdraw(*s.waiter);
        asked(s).to("sync /").ends(outcome::ok);
        asked(s).to("children /p").list({s.node(1, 0), s.node(2, 1)}, s.fresh(101));
        asked(s).to("remove /p/" + s.node(2, 1)).ends(outcome::ok);
        take_up(s);
        s.show_gone("/p/" + s.node(2, 1), changed);
        CHECK(trusts(s) == (changed == 102)); // then it was deleted, and all that was written before is there
    }
}
TEST_CASE("nothing was written before at the parent of a node that was found")
{
    connected_scene s;
    const auto a = s.acquire("/p");
    s.lose_connection();
    s.connect(5, false);
    asked(s).to("children /p").list({s.node(1, 0)}, s.fresh(100));
    asked(s).to("watch /p/" + s.node(1, 0)).show(of_this_session(100));
    take_up(s);
    SUBCASE("it is there") {
        asked(s).only("exists /p/" + s.node(1, 0)).stat(of_this_session(100));
        CHECK(trusts(s));
    }
    SUBCASE("it is missing, and nobody has deleted it") {
        s.show_gone("/p/" + s.node(1, 0), 99);
        CHECK_FALSE(trusts(s));
    }
}
TEST_CASE(
    "a list showed a node whose create was lost, and before more was known its parent was gone: it may not be back")
{
    for (const bool by_event : {true, false}) {
        connected_scene s;
        const auto a = s.acquire("/p");
        s.lose_connection();
        s.connect(5, false);
        asked(s).to("children /p").list({s.node(1, 0)}, s.fresh(100));
        if (by_event)
            s.servers.observer->on_node_event(store::event_kind::deleted, "/p");
        else
            asked(s).to("watch /p/" + s.node(1, 0)).ends(outcome::no_node);
        take_up(s);
        if (by_event)
            asked(s).only("batch check /").ends(outcome::ok);
        asked(s).only("exists /p/" + s.node(1, 0)).stat(of_this_session(100));
        CHECK_FALSE(trusts(s));
    }
}
TEST_CASE("a permit that was found")
{
    semaphore_scene s;
    const auto a = s.want_at_head(1, permits_of(1));
    s.reconnect();
    s.answer_syncs();
    asked(s).to("children /s/leases").list({s.permit(2, 7)}, s.fresh(61));
    SUBCASE("may not be missing") {
        take_up(s);
        s.show_gone(s.permit_node(2, 7), 60);
    }
    SUBCASE("may not be back: a list showed that others had deleted it") {
        asked(s).to("children /s/leases").list({});
        take_up(s);
        asked(s).only("exists " + s.permit_node(2, 7)).stat(of_this_session(60));
    }
    CHECK_FALSE(trusts(s));
}
TEST_CASE("a downgrade was found to have been done: the writer's node may not be back")
{
    downgrade_scene s;
    s.lose_answer(101);
    SUBCASE("by its repetition")
        asked(s).to(s.downgrade("/p")).fails_at(0, outcome::node_exists);
    SUBCASE("by a look, because its repetition was refused") {
        asked(s).to(s.downgrade("/p")).ends(outcome::no_auth);
        asked(s).to("exists " + s.downgraded("/p")).stat(of_this_session(101));
    }
    take_up(s);
    asked(s).only("exists /p/" + s.writer).stat(of_this_session(100));
    CHECK_FALSE(trusts(s));
}
TEST_CASE("a lost create that was deleted where it appeared may not be back")
{
    connected_scene s;
    const auto a = s.acquire("/p");
    s.lose_connection();
    s.withdraw(*a);
    s.connect(5, false);
    asked(s).to("sync /").ends(outcome::ok).to("children /p").list({}); // by a leader that was replaced
    s.lose_connection();
    s.connect(5, false);
    asked(s).to("sync /").ends(outcome::ok).to("children /p").list({s.node(1, 0)});
    SUBCASE("by this client")
        asked(s).only("remove /p/" + s.node(1, 0)).ends(outcome::ok);
    SUBCASE("by others, sooner")
        asked(s).only("remove /p/" + s.node(1, 0)).ends(outcome::no_node);
    SUBCASE("by whom, is not known") {
        s.lose_connection();
        s.connect(5, false);
        asked(s).to("sync /").ends(outcome::ok).to("children /p").list({});
    }
    take_up(s);
    asked(s).only("exists /p/" + s.node(1, 0)).stat(of_this_session(100));
    CHECK_FALSE(trusts(s));
}
TEST_CASE("a lost create that was not found may have been done, and deleted by others: it may not be back")
{
    for (const bool is_back : {true, false}) {
        CAPTURE(is_back);
        connected_scene s;
        give_up_lost_create(s);
        asked(s).to("children /p").list({}, s.fresh(50));
        s.answer_syncs();
        take_up(s);
        asked(s).only("exists /p/" + prefix(1)).ends(outcome::no_node);
        asked(s).only("exists /p").stat(s.fresh(next_leader + 1));
        asked(s).only("children /p").list(is_back ? std::vector{s.node(1, 0)} : std::vector<std::string>());
        CHECK(trusts(s) != is_back);
    }
}
TEST_CASE("a lost create was not found, and others delete the node that is held: that alone is lost")
{
    connected_scene s;
    const auto holder = s.hold("/p", 0);
    give_up_lost_create_beside(s, s.node(1, 0));
    asked(s).only("exists /p/" + s.node(1, 0)).ends(outcome::no_node);
    SUBCASE("as the parent shows") {
        asked(s).only("exists /p").stat(s.fresh(130));
        CHECK(trusts(s));
    }
    SUBCASE("but servers that were set back do not know as much as that list") {
        asked(s).only("exists /p").stat(s.fresh(110));
        CHECK_FALSE(trusts(s));
    }
}
TEST_CASE("a lost create was not found: what was written last there still proves what was written before it elsewhere")
{
    connected_scene s;
    const auto elsewhere = s.hold("/q", 7);
    const auto holder = s.hold("/p", 0);
    give_up_lost_create_beside(s, s.node(2, 0));
    asked(s).only("exists /p/" + s.node(2, 0)).stat(of_this_session(100));
    asked(s).only("exists /p").stat(s.fresh(120));
    CHECK(trusts(s)); // and nothing is asked of the other
}
TEST_CASE("a look for a lost permit finds the others gone, too: they may not be back")
{
    semaphore_scene s;
    const auto held = s.want_at_head(1, permits_of(2));
    asked(s).to("create " + s.permit_prefix(2)).number(60, 7);
    asked(s).to("children /s/leases").list({s.permit(2, 7)}, s.fresh(60));
    asked(s).to(s.leave_line(1)).ends(outcome::ok);
    const auto a = s.want(1, permits_of(2));
    asked(s).to(s.line_up(3)).number(51, 1);
    s.reconnect();
    s.answer_syncs();
    asked(s).to("children /s/leases").ends(outcome::no_node);
    take_up(s);
    asked(s).only("exists " + s.permit_node(2, 7)).stat(of_this_session(60));
    CHECK_FALSE(trusts(s));
}
TEST_CASE("a downgrade whose answer was lost, and others deleted the node: neither node may be back")
{
    for (const bool reader_is_back : {true, false}) {
        downgrade_scene s;
        s.lose_answer(102);
        asked(s).to(s.downgrade("/p")).fails_at(1, outcome::no_node);
        take_up(s);
        asked look(s);
        look.only("exists " + s.downgraded("/p"));
        if (reader_is_back) {
            look.stat(of_this_session(101));
        } else {
            look.ends(outcome::no_node);
            asked(s).only("exists /p").stat(s.fresh(100)).only("children /p").list({s.writer});
        }
        CHECK_FALSE(trusts(s));
    }
}
TEST_CASE("a node is found gone, and another was made later: what was before that is there if its transaction is")
{
    connected_scene s;
    const auto a = s.hold("/p", 0);
    const auto b = s.enqueue("/p", 1);
    s.clock.pass(200ms);
    asked(s).to("watch /p/" + s.node(1, 0)).ends(outcome::no_node);
    take_up(s);
    asked(s).only("exists /p/" + s.node(1, 0)).ends(outcome::no_node);
    SUBCASE("it is, and others have deleted that node, too, since") {
        asked(s).only("exists /p").stat(s.fresh(103));
        CHECK(trusts(s));
    }
    SUBCASE("it is not") {
        asked(s).only("exists /p").stat(s.fresh(100));
        CHECK_FALSE(trusts(s));
    }
}
TEST_CASE("a node is found gone after another was deleted, and when is not known: that is looked for")
{
    undated_scene s;
    asked(s).only("exists /p").stat(s.fresh(102)).only("children /p").list({s.node(2, 1)});
    CHECK_FALSE(trusts(s));
}
TEST_CASE("an answer says that the parent is gone: none of the nodes that were there may be back, and none is missed")
{
    connected_scene s;
    const auto a = s.hold("/p", 0);
    const auto b = s.enqueue("/p", 1);
    const auto c = s.acquire("/p");
    asked(s).to("create /p/" + prefix(3)).ends(outcome::no_node);
    CHECK(a->losses == 1);
    take_up(s);
    SUBCASE("one is back") {
        asked(s).only("exists /p/" + s.node(2, 1)).stat(of_this_session(101));
        CHECK_FALSE(trusts(s));
    }
    SUBCASE("none is") {
        s.show_gone("/p/" + s.node(2, 1), 102);
        asked(s).only("children /p").list({});
        CHECK(trusts(s));
    }
}
TEST_CASE("an answer says that the parent of permits is gone: none of them is deleted, or may be back")
{
    semaphore_scene s;
    const auto a = s.want_at_head(2, permits_of(3));
    asked(s).to_batch_of(2).done({s.permit_node(2, 7), s.permit_node(3, 8)});
    asked(s).to("children /s/leases").list({s.permit(2, 7), s.permit(3, 8)});
    REQUIRE(a->ended == error_code());
    asked(s).to(s.leave_line(1)).ends(outcome::ok);
    const auto b = s.want(1, permits_of(3));
    asked(s).to(s.line_up(4)).number(70, 1);
    SUBCASE("somebody wants a permit more") {
    }
    SUBCASE("nobody does any more") {
        s.withdraw(*b);
    }
    asked(s).to("create " + s.permit_prefix(5)).ends(outcome::no_node);
    CHECK(a->losses == 1);
    CHECK(s.servers.pending().find("remove /s/leases") == std::string::npos);
    s.session->own_writes().compare([] {});
    asked(s).to("exists " + s.permit_node(3, 8)).stat(of_this_session(61));
    CHECK(s.servers.session_given_up);
}
TEST_CASE("a list of permits dates what is written after it")
{
    for (const std::int64_t changed : {61, 62}) {
        semaphore_scene s;
        const auto a = s.want_at_head(1, permits_of(1));
        asked(s).to("create " + s.permit_prefix(2)).number(60, 7);
        asked(s).to("children /s/leases").list({s.permit(2, 7)}, s.fresh(61));
        CHECK(a->ended == error_code());
        s.release(*a);
        asked(s).to("remove " + s.permit_node(2, 7)).ends(outcome::ok);
        take_up(s);
        s.show_gone(s.permit_node(2, 7), changed);
        CHECK(trusts(s) == (changed == 62));
    }
}
TEST_CASE("a parent was found gone after the last write elsewhere: it is asked for first")
{
    connected_scene s;
    const auto a = s.hold("/p", 0);
    const auto b = s.hold("/q", 7);
    const auto c = s.acquire("/p");
    asked(s).to("create /p/" + prefix(3)).ends(outcome::no_node);
    take_up(s);
    asked(s).only("exists /p/" + s.node(1, 0)).stat(of_this_session(100));
    CHECK_FALSE(trusts(s));
}
TEST_CASE("a node was deleted of which is not known by which transaction it was made")
{
    downgrade_scene s;
    SUBCASE("because a batch does not say that")
        asked(s).to(s.downgrade("/p")).done({s.downgraded("/p")});
    SUBCASE("because the answer was lost") {
        s.lose_answer(105);
        asked(s).to(s.downgrade("/p")).fails_at(0, outcome::node_exists);
    }
    s.release(*s.holder);
    asked(s).to("remove " + s.downgraded("/p")).ends(outcome::ok);
    take_up(s);
    s.show_gone(s.downgraded("/p"), 103); // by somebody who came in between
    asked(s).only("children /p").list({s.writer});
    CHECK_FALSE(trusts(s));
}
TEST_CASE("a permit that was deleted before a list")
{
    semaphore_scene s;
    const auto a = s.want_at_head(1, permits_of(1));
    asked(s).to("create " + s.permit_prefix(2)).number(60, 7);
    s.withdraw(*a);
    asked(s).to("remove " + s.permit_node(2, 7)).ends(outcome::ok);
    take_up(s);
    s.show_gone(s.permit_node(2, 7), 60); // not even its delete
    CHECK_FALSE(trusts(s));
}
TEST_CASE("after an election, all children of others are later than what is known of ours: one look tells")
{
    undated_scene s;
    asked(s).only("exists /p").stat(s.fresh(next_leader + 90));
    asked(s).only("children /p").list({s.node(8, 10), s.node(9, 11)});
    asked(s).only("exists /p/" + s.node(8, 10)).stat(node_of(77, next_leader + 10));
    CHECK(trusts(s));
}
TEST_CASE("a reader may be later than its number says: it tells nothing of the others")
{
    undated_scene s;
    asked(s).only("exists /p").stat(s.fresh(next_leader + 90));
    asked(s).only("children /p").list({s.node(8, 10, "__READ__"), s.node(9, 11)});
    asked(s).only("exists /p/" + s.node(8, 10, "__READ__")).stat(node_of(77, next_leader + 10));
    asked(s).only("exists /p/" + s.node(9, 11)).stat(of_this_session(50));
    CHECK_FALSE(trusts(s));
}
TEST_CASE("names of kazoo's permits have no numbers: one that is new says nothing of the others")
{
    connected_scene s;
    const std::string gone = "/s/00000000000040008000000000000003";
    s.session->own_writes().made(gone, 50);
    s.session->own_writes().removed(gone);
    take_up(s);
    s.show_gone(gone, next_leader + 90);
    asked(s).only("children /s").list({"00000000000040008000000000000001", "00000000000040008000000000000002"});
    asked(s).only("exists /s/00000000000040008000000000000002").stat(node_of(77, next_leader + 10));
    asked(s).only("exists /s/00000000000040008000000000000001").stat(of_this_session(40));
    CHECK_FALSE(trusts(s));
}
