// Locks handed over past the servers: what a client does with what others tell.
#include "handoff_scene.hpp"
#include "journal.hpp"

#include "recipes/requests/node_watches.hpp"

using namespace zklock::unit;

TEST_CASE("who waits asks where the data say, of the nodes it watches")
{
    handoff_scene s;
    const auto a = s.wait_behind(there);
    CHECK(s.peers.heard() == "subscribe #52 at 10.0.0.2:7000, subscribe #51 at 10.0.0.2:7000");
    s.is_gone(51, 0);
    CHECK(s.peers.heard() == "unsubscribe #51");
    s.withdraw(*a);
    CHECK(s.peers.heard() == "unsubscribe #52, publish #1");
}

TEST_CASE("it asks nobody of whom the data say nothing that it understands, nor itself")
{
    for (const std::string data :
         {"them", "them\nhandoff=nonsense", "them\nhandoff=example.com:7000", "them\nhandoff=10.0.0.2:0",
          "them\nhandoff=10.0.0.2:70000", "handoff=10.0.0.2:7000", "them\nhandoff=10.0.0.1:7000", "__REVOKE__"}) {
        CAPTURE(data); // 10.0.0.1: itself, in an earlier session
        handoff_scene s;
        const auto a = s.wait_behind(data);
        CHECK(s.peers.heard() == "");
    }
}

TEST_CASE("certificates of all who are before it are the grant")
{
    handoff_scene s;
    const auto a = s.wait_behind(there);
    s.certify(7);
    s.certify(52);
    CHECK_FALSE(a->ended);
    s.certify(51);
    CHECK(a->ended == error_code());
    asked(s).nothing_else();
    s.certify(51);
    s.is_gone(51, 0);
    s.is_gone(52, 1);
    asked(s).nothing_else();
}

TEST_CASE("such a grant counts once, and the log tells whose word it was")
{
    handoff_scene s;
    const auto first = [&] {
        if (s.log.empty())
            return std::string();
        const std::string line = s.log.back();
        s.log.clear();
        return line;
    };
    const std::string before = "granted /p by word of who let it go, before the servers told of it: ";
    SUBCASE("one who was asked") {
        const auto a = s.wait_behind(there);
        const auto behind = s.acquire("/p");
        asked(s).to(to_create(2)).number(103, 3);
        s.certify(51);
        CHECK(s.counted.handoff.taken.read() == 0);
        s.certify(52);
        REQUIRE(a->ended == error_code());
        CHECK(first() == before + fake_peers::node(52, 1) + " at 10.0.0.2:7000");
        CHECK(s.counted.handoff.taken.read() == 1);
        s.release(*a);
        asked(s).to("remove " + of_path(fake_peers::node(1, 2))).ends(outcome::ok);
        s.watched(2, 3, 5, "me");
        REQUIRE(behind->ended == error_code()); // over the same nodes, which nobody has seen gone
        CHECK(first() == "");
    }
    SUBCASE("one who is not asked: somebody sends it along") {
        const auto a = s.queue_behind({fake_peers::node(53, 0)});
        s.watched(1, 1, 5, "me");
        s.watched(53, 0, 8, "them");
        s.certify(53);
        REQUIRE(a->ended == error_code());
        CHECK(first() == before + fake_peers::node(53, 0));
    }
    CHECK(s.counted.handoff.taken.read() == 1);
}

TEST_CASE("a grant by the servers' word does not count")
{
    handoff_scene s;
    const auto a = s.wait_behind(there);
    s.certify(51);
    s.is_gone(51, 0);
    s.is_gone(52, 1);
    REQUIRE(a->ended == error_code());
    s.certify(52);
    CHECK(s.counted.handoff.taken.read() == 0);
    CHECK(s.log.empty());
}

TEST_CASE("what came before the node was known, or for one that nobody was asked about, counts as well")
{
    handoff_scene s;
    s.certify(52);
    SUBCASE("told before the list") {
        const auto a = s.queue_behind({fake_peers::node(51, 0), fake_peers::node(52, 1)});
        s.watched(1, 2, 5, "me");
        s.watched(51, 0, 8, there);
        asked(s).nothing_else();
        CHECK(s.peers.heard() == "subscribe #51 at 10.0.0.2:7000");
        s.certify(51);
        CHECK(a->ended == error_code());
    }
    SUBCASE("only the nearer one has an address") {
        const auto a = s.queue_behind({fake_peers::node(53, 0), fake_peers::node(51, 1)});
        s.watched(1, 2, 5, "me");
        s.watched(51, 1, 9, there);
        s.watched(53, 0, 8, "them");
        s.certify(51);
        CHECK_FALSE(a->ended);
        s.certify(53); // sent along
        CHECK(a->ended == error_code());
    }
}

TEST_CASE("a node whose name others have copied is asked for in one place, and elsewhere when that node is gone")
{
    handoff_scene s;
    const auto a = s.queue_behind({fake_peers::node(51, 0), fake_peers::node(51, 1)});
    s.watched(1, 2, 5, "me");
    s.watched(51, 1, 9, "them\nhandoff=10.0.0.3:7000");
    CHECK(s.peers.heard() == "subscribe #51 at 10.0.0.3:7000");
    s.watched(51, 0, 8, there);
    CHECK(s.peers.heard() == "unsubscribe #51, subscribe #51 at 10.0.0.2:7000");
    SUBCASE("the first") {
        s.is_gone(51, 0);
        CHECK(s.peers.heard() == "unsubscribe #51, subscribe #51 at 10.0.0.3:7000");
        s.is_gone(51, 1);
    }
    SUBCASE("the second") {
        s.is_gone(51, 1);
        CHECK(s.peers.heard() == "");
        s.is_gone(51, 0);
    }
    CHECK(s.peers.heard() == "unsubscribe #51");
    CHECK(a->ended == error_code());
}

TEST_CASE("who waits behind a node that is watched already asks for it again")
{
    handoff_scene s;
    const auto a = s.queue_behind({fake_peers::node(51, 0)});
    s.watched(1, 1, 5, "me");
    s.watched(51, 0, 9, there);
    CHECK(s.peers.heard() == "subscribe #51 at 10.0.0.2:7000");
    CHECK(a->handle->withdraw());
    const auto b = s.acquire("/p");
    CHECK(s.peers.heard() == "unsubscribe #51, publish #1, offer #2");
    asked(s).to(to_create(2)).number(103, 2);
    CHECK(s.peers.heard() == "subscribe #51 at 10.0.0.2:7000");
}

TEST_CASE("who lets go sends along what was let go before it, though the servers have told it")
{
    handoff_scene s;
    const auto a = s.wait_behind(there);
    s.certify(52);
    s.certify(51);
    CHECK(a->ended == error_code());
    s.peers.heard();
    SUBCASE("they are there") {
    }
    SUBCASE("one is gone: others may have seen it, and wait")
        s.is_gone(52, 1);
    s.release(*a);
    CHECK(s.peers.heard() == "publish #1 and #52 and #51");
}

TEST_CASE("behind such a grant a sync goes before the next read for a user")
{
    handoff_scene s;
    told<node_content> read, another;
    const auto a = s.wait_behind(there);
    recipes::nodes::get(*s.session, "/d", read.teller());
    s.certify(52);
    s.certify(51);
    CHECK(a->ended == error_code());
    asked(s).only("get /d").show(9, "before");
    CHECK(read.value.data == "before"); // it was asked before
    SUBCASE("") {
        recipes::nodes::get(*s.session, "/d", another.teller());
        asked(s).all_of({"sync /", "get /d"});
        SUBCASE("it goes well") {
            asked(s).to("sync /").ends(outcome::ok).to("get /d").show(9, "after");
            CHECK(another.value.data == "after");
            told<node_content> more;
            recipes::nodes::get(*s.session, "/d", more.teller());
            asked(s).only("get /d");
        }
        SUBCASE("it is refused") {
            asked(s).to("sync /").ends(outcome::no_auth).to("get /d").show(9, "old");
            CHECK(another.ended_with(errc::access_denied));
        }
        SUBCASE("the nodes that were passed over are gone meanwhile") {
            s.is_gone(51, 0);
            s.is_gone(52, 1);
            asked(s).to("sync /").ends(outcome::no_auth).to("get /d").show(9, "after");
            CHECK(another.value.data == "after");
        }
    }
    SUBCASE("unless those nodes have been seen gone") {
        s.is_gone(52, 1);
        s.is_gone(51, 0);
        recipes::nodes::get(*s.session, "/d", another.teller());
        asked(s).only("get /d");
    }
    SUBCASE("a look is such a read") {
        s.release(*a);
        asked(s).to("remove " + a->given.node).ends(outcome::ok);
        const auto b = s.acquire("/p", {}, acquire_mode::look_once);
        asked(s).all_of({"sync /", "children /p"});
        asked(s).to("sync /").ends(outcome::ok).to("children /p").list({fake_peers::node(51, 0)}, {});
        CHECK_FALSE(b->ended); // 51 was let go
    }
}

TEST_CASE("behind such a grant a wait looks for itself, whatever a watch has told before")
{
    using goal = recipes::node_wait::goal;
    handoff_scene s;
    const auto a = s.wait_behind(there);
    recipes::node_watches watches(*s.session);
    store::node_stat before;
    before.czxid = 7;
    std::optional<error_code> gone, there_again;
    const auto end = watches.wait("/d", goal::deleted, before, [&](error_code ec, const auto&) { gone = ec; });
    s.clock.run();
    const auto begin = [&] {
        s.certify(52);
        s.certify(51);
        CHECK(a->ended == error_code());
        auto wait = watches.wait("/d", goal::created, {}, [&](error_code ec, const auto&) { there_again = ec; });
        s.clock.run();
        return wait;
    };
    SUBCASE("the watch is armed") {
        asked(s).only("watch exists /d").stat(before);
        const auto late = begin();
        asked(s).all_of({"sync /", "watch exists /d"});
        asked(s).to("sync /").ends(outcome::ok).to("watch exists /d").ends(outcome::no_node);
    }
    SUBCASE("a look is under way") {
        const auto late = begin();
        asked(s).only("watch exists /d").stat(before);
        asked(s).all_of({"sync /", "watch exists /d"});
        asked(s).to("sync /").ends(outcome::ok).to("watch exists /d").ends(outcome::no_node);
    }
    CHECK(gone == error_code());
    CHECK_FALSE(there_again); // the holder before has seen that it is not
}

TEST_CASE("a user is not shown the line")
{
    handoff_scene s;
    told<std::vector<contender>> listed;
    recipes::list_contenders(*s.session, "/p", listed.teller());
    asked(s).to("children /p").list({fake_peers::node(51, 0)}, {});
    asked(s).to("get " + of_path(fake_peers::node(51, 0))).show(9, "them\nzone=a\nhandoff=10.0.0.2:7000");
    REQUIRE(listed.value.size() == 1);
    CHECK(listed.value[0].identifier == "them");
    CHECK(listed.value[0].properties == std::map<std::string, std::string>{{"zone", "a"}});
}
