// Waiting for nodes: what is looked at and when, whose look and watch serve whom, and what goes on over reconnects.
#include "watch_scene.hpp"

using namespace zklock::unit;
using goal = recipes::node_wait::goal;
using store::event_kind;

TEST_CASE("created: what is there is told at once; else its creation, with one request more")
{
    watch_scene s;
    SUBCASE("it is there") {
        waiting& w = s.wait(goal::created);
        asked(s).only("watch exists /a").stat(made(7));
        CHECK(w.ended_well());
        CHECK(w.found->czxid == 7);
        asked(s).only("unwatch /a").ends(outcome::ok).nothing_else();
    }
    SUBCASE("it is made later") {
        waiting& w = s.wait(goal::created);
        asked(s).only("watch exists /a").ends(outcome::no_node).nothing_else();
        CHECK_FALSE(w.ended);
        s.event(event_kind::created);
        CHECK_FALSE(w.ended);
        asked(s).only("exists /a").stat(made(8)).nothing_else();
        CHECK(w.ended_well());
        CHECK(w.found->czxid == 8);
    }
    SUBCASE("it is made, and gone again before the look") {
        waiting& w = s.wait(goal::created);
        asked(s).only("watch exists /a").ends(outcome::no_node);
        s.event(event_kind::created);
        asked(s).only("exists /a").ends(outcome::no_node);
        CHECK_FALSE(w.ended);
        asked(s).only("watch exists /a").stat(made(9));
        CHECK(w.found->czxid == 9);
    }
}

TEST_CASE("deleted: the event is the end, without a request; so is another node in its place")
{
    watch_scene s;
    SUBCASE("the event") {
        waiting& w = s.wait(goal::deleted, made(7));
        asked(s).only("watch exists /a").stat(made(7)).nothing_else();
        s.event(event_kind::data_changed);
        CHECK_FALSE(w.ended);
        asked(s).only("watch exists /a").stat(made(7, 9)).nothing_else();
        s.event(event_kind::deleted);
        CHECK(w.ended_well());
        CHECK_FALSE(w.found);
        asked(s).nothing_else();
    }
    SUBCASE("another one") {
        waiting& w = s.wait(goal::deleted, made(7));
        asked(s).only("watch exists /a").stat(made(9));
        CHECK(w.ended_well());
        asked(s).only("unwatch /a").ends(outcome::ok).nothing_else();
    }
    SUBCASE("it is not there") {
        waiting& w = s.wait(goal::deleted, made(7));
        asked(s).only("watch exists /a").ends(outcome::no_node);
        CHECK(w.ended_well());
        asked(s).only("unwatch /a").ends(outcome::ok).nothing_else();
    }
    SUBCASE("what the first look finds is what is waited for") {
        waiting& w = s.wait(goal::deleted);
        asked(s).only("watch exists /a").stat(made(9));
        CHECK_FALSE(w.ended);
        s.event(event_kind::data_changed);
        asked(s).only("watch exists /a").stat(made(9, 10));
        CHECK_FALSE(w.ended);
        s.event(event_kind::data_changed);
        asked(s).only("watch exists /a").stat(made(12));
        CHECK(w.ended_well());
    }
}

TEST_CASE("changed: the event only says that it is time to look")
{
    watch_scene s;
    waiting& w = s.wait(goal::changed, made(7, 8));
    asked(s).only("watch exists /a").stat(made(7, 8));
    s.event(event_kind::data_changed);
    CHECK_FALSE(w.ended);
    SUBCASE("which finds the change, and leaves no watch") {
        asked(s).only("exists /a").stat(made(7, 9)).nothing_else();
        CHECK(w.ended_well());
        CHECK(w.found->mzxid == 9);
    }
    SUBCASE("which does not find it: then it looks once more, with a watch") {
        asked(s).only("exists /a").stat(made(7, 8));
        CHECK_FALSE(w.ended);
        asked(s).only("watch exists /a").stat(made(7, 8)).nothing_else();
        CHECK_FALSE(w.ended);
    }
    SUBCASE("which finds the node gone") {
        asked(s).only("exists /a").ends(outcome::no_node).nothing_else();
        CHECK(w.ended_well());
        CHECK_FALSE(w.found);
    }
}

TEST_CASE("changed: also by the node's end")
{
    watch_scene s;
    waiting& w = s.wait(goal::changed, made(7, 8));
    asked(s).only("watch exists /a").stat(made(7, 8));
    s.event(event_kind::deleted);
    CHECK(w.ended_well());
    CHECK_FALSE(w.found);
    asked(s).nothing_else();
}

TEST_CASE("children: counted by the transaction that changed them last")
{
    watch_scene s;
    waiting& w = s.wait(goal::children_changed, made(7, 8, 9));
    asked(s).only("watch children /a").list({"x"}, made(7, 8, 9)).nothing_else();
    SUBCASE("one comes") {
        s.event(event_kind::data_changed); // somebody else's watch
        asked(s).nothing_else();
        s.event(event_kind::children_changed);
        asked(s).only("children /a").list({"x", "y"}, made(7, 8, 10)).nothing_else();
        CHECK(w.ended_well());
        CHECK(w.found->pzxid == 10);
    }
    SUBCASE("the node goes") {
        s.event(event_kind::deleted);
        CHECK(w.ended_well());
        CHECK_FALSE(w.found);
        asked(s).nothing_else();
    }
    SUBCASE("the node is not there at the next look") {
        s.event(event_kind::children_changed);
        asked(s).only("children /a").ends(outcome::no_node).nothing_else();
        CHECK(w.ended_well());
        CHECK_FALSE(w.found);
    }
}

TEST_CASE("lists of few children are all asked for at once after a reconnect; what may be long, a few at a time")
{
    watch_scene s;
    const auto seen = [](std::int32_t children) {
        node_stat stat = made(7, 8, 9);
        stat.num_children = children;
        return stat;
    };
    constexpr std::size_t most_lists = window / places_of_a_list;
    const auto under_way = [&s] { return s.servers.requests.size(); };
    for (std::size_t n = 0; n < 2 * most_lists; ++n)
        s.wait(goal::children_changed, made(7, 8, 9), numbered("/n", n));
    CHECK(under_way() == most_lists); // nothing is known of them
    std::int32_t children = 0;
    SUBCASE("few")
        children = 900;
    SUBCASE("many")
        children = 100'000;
    for (std::size_t n = 0; n < 2 * most_lists; ++n)
        asked(s).to(numbered("watch children /n", n)).list({}, seen(children));
    CHECK(under_way() == 0);
    s.reconnect();
    s.answer_syncs();
    CHECK(under_way() == (children == 900 ? 2 * most_lists : most_lists));
}

TEST_CASE("all who wait at a path share one look and one watch")
{
    watch_scene s;
    waiting& first = s.wait(goal::changed, made(7, 8));
    waiting& second = s.wait(goal::deleted, made(7)); // while the look is under way
    asked(s).only("watch exists /a").stat(made(7, 8)).nothing_else();
    waiting& third = s.wait(goal::changed, made(7, 8)); // while the watch is armed
    waiting& late = s.wait(goal::changed, made(7, 6));  // has happened: the watch would have told of anything since
    asked(s).nothing_else();
    CHECK(late.ended_well());
    CHECK(late.found->mzxid == 8);
    s.event(event_kind::data_changed);
    asked(s).only("watch exists /a").stat(made(7, 9)).nothing_else(); // armed, for the one that waits for the end
    CHECK(first.ended_well());
    CHECK(third.ended_well());
    CHECK_FALSE(second.ended);
    waiting& children = s.wait(goal::children_changed, made(7)); // has a watch of its own
    asked(s).only("watch children /a").list({}, made(7)).nothing_else();
    s.event(event_kind::deleted);
    CHECK(second.ended_well());
    CHECK(children.ended_well());
    asked(s).nothing_else();
}

TEST_CASE("an event while a look is under way or in line changes nothing: that look finds out")
{
    watch_scene s;
    waiting& w = s.wait(goal::changed, made(7, 8));
    s.event(event_kind::data_changed); // of somebody else's watch
    asked(s).only("watch exists /a").stat(made(7, 9));
    CHECK(w.ended_well());
}

TEST_CASE("whoever wants no more: what was not sent is not sent, what was is taken back, the last one's only")
{
    watch_scene s;
    SUBCASE("in line") {
        s.session->requests().window = 1;
        told<node_content> before;
        nodes::get(*s.session, "/b", before.teller());
        waiting& w = s.wait(goal::created);
        CHECK(s.withdraw(w));
        asked(s).only("get /b").show(0, "").nothing_else();
        CHECK_FALSE(w.ended);
    }
    SUBCASE("under way") {
        waiting& w = s.wait(goal::created);
        CHECK(s.withdraw(w));
        asked(s).only("watch exists /a").ends(outcome::no_node).only("unwatch /a").ends(outcome::ok).nothing_else();
        CHECK_FALSE(w.ended);
    }
    SUBCASE("under way, and another comes") {
        waiting& w = s.wait(goal::created);
        CHECK(s.withdraw(w));
        waiting& another = s.wait(goal::created);
        asked(s).only("watch exists /a").ends(outcome::no_node).nothing_else();
        s.event(event_kind::created);
        asked(s).only("exists /a").stat(made(7)).nothing_else();
        CHECK(another.ended_well());
        CHECK_FALSE(w.ended);
    }
    SUBCASE("armed") {
        waiting& w = s.wait(goal::changed, made(7));
        waiting& another = s.wait(goal::children_changed, made(7));
        asked(s).to("watch exists /a").stat(made(7)).to("watch children /a").list({}, made(7));
        CHECK(s.withdraw(w));
        asked(s).nothing_else(); // it would take the other's
        CHECK(s.withdraw(another));
        asked(s).only("unwatch /a").ends(outcome::ok).nothing_else();
    }
    SUBCASE("too late: the news is on its way") {
        waiting& w = s.wait(goal::created);
        const auto answer = asked(s).to("watch exists /a").kept();
        answer.stat(made(7));
        CHECK_FALSE(w.ended);
        CHECK_FALSE(s.withdraw(w));
        s.clock.run();
        CHECK(w.ended_well());
        CHECK_FALSE(s.withdraw(w));
    }
}

TEST_CASE("a watch whose return meets somebody who waits again is his to take back, though he never looks")
{
    watch_scene s;
    s.session->requests().window = 1;
    waiting& w = s.wait(goal::changed, made(7));
    asked(s).only("watch exists /a").stat(made(7)).nothing_else();
    told<node_content> first, second;
    nodes::get(*s.session, "/b", first.teller());
    CHECK(s.withdraw(w));
    nodes::get(*s.session, "/c", second.teller());
    waiting& again = s.wait(goal::children_changed, made(7));
    asked(s).only("get /b").show(0, "");
    const auto read = asked(s).only("get /c").kept();
    CHECK(s.withdraw(again));
    read.show(0, "");
    s.clock.run();
    asked(s).only("unwatch /a").ends(outcome::ok).nothing_else();
}

TEST_CASE("they wait for a connection, and go on over the next: what happened in between is found")
{
    watch_scene s(false);
    waiting& changed = s.wait(goal::changed, made(7, 8));
    waiting& gone = s.wait(goal::deleted, made(7));
    waiting& replaced = s.wait(goal::deleted, made(5), "/b");
    asked(s).nothing_else();
    s.connect();
    asked(s).to("watch exists /a").stat(made(7, 8)).to("watch exists /b").stat(made(5)).nothing_else();
    s.reconnect(); // and nobody has told of any event
    s.answer_syncs();
    CHECK_FALSE(changed.ended);
    asked(s).to("watch exists /a").stat(made(7, 9)).to("watch exists /b").stat(made(6));
    CHECK(changed.ended_well());
    CHECK_FALSE(gone.ended);
    CHECK(replaced.ended_well());
    asked(s).only("unwatch /b").ends(outcome::ok).nothing_else();
}

TEST_CASE("a look whose answer was lost is repeated, once, and behind a sync that has to succeed")
{
    watch_scene s;
    waiting& w = s.wait(goal::changed, made(7, 8));
    asked(s).to("watch exists /a").ends(outcome::unknown);
    CHECK_FALSE(w.ended);
    asked(s).nothing_else();
    s.reconnect();
    CHECK(s.servers.pending() == "sync /, watch exists /a");
    asked(s).to("sync /").ends(outcome::ok).to("watch exists /a").stat(made(7, 9));
    CHECK(w.ended_well());
}

TEST_CASE("behind a sync that is refused nothing is told")
{
    watch_scene s;
    waiting& w = s.wait(goal::changed, made(7, 8));
    asked(s).to("watch exists /a").stat(made(7, 8));
    s.reconnect();
    asked(s).to("sync /").ends(outcome::no_auth).to("watch exists /a").stat(made(7, 9));
    CHECK(w.ended_with(errc::access_denied));
    asked(s).to("unwatch /a").ends(outcome::ok).nothing_else(); // that look has armed one
}

TEST_CASE("a session that expires is no end; the client's is")
{
    watch_scene s;
    waiting& w = s.wait(goal::deleted, made(7));
    asked(s).to("watch exists /a").stat(made(7));
    s.disconnect();
    s.servers.observer->on_expired();
    s.servers.observer->on_connected({6, 10s, true, s.clock.now()});
    s.clock.run();
    s.answer_syncs();
    CHECK_FALSE(w.ended);
    const auto look = asked(s).to("watch exists /a").nothing_else().kept();
    waiting& late = s.wait(goal::created, "/b");
    s.close();
    CHECK(w.ended_with(errc::closed));
    CHECK(late.ended_with(errc::closed));
    look.answer(outcome::unknown);
    waiting& later = s.wait(goal::created, "/c");
    CHECK(later.ended_with(errc::closed));
    CHECK_FALSE(s.withdraw(w));
}

TEST_CASE("a server that knows less than what was seen: older counts for nothing, and its end neither")
{
    watch_scene s;
    waiting& changed = s.wait(goal::changed, made(7, 9));
    waiting& gone = s.wait(goal::deleted, made(7));
    waiting& other = s.wait(goal::children_changed, made(7, 9, 8));
    asked(s).to("watch exists /a").stat(made(5, 6)).to("watch children /a").list({}, made(5, 6, 6)).nothing_else();
    CHECK_FALSE(changed.ended);
    CHECK_FALSE(gone.ended);
    s.event(event_kind::deleted); // of a node before the one that was seen
    CHECK_FALSE(changed.ended);
    CHECK_FALSE(gone.ended);
    CHECK_FALSE(other.ended);
    asked(s).to("watch exists /a").stat(made(7, 9)).to("watch children /a").list({}, made(7, 9, 8)).nothing_else();
    s.event(event_kind::deleted);
    CHECK(changed.ended_well());
    CHECK(gone.ended_well());
    CHECK(other.ended_well());
}

TEST_CASE("whoever may not read it is told so, also while he waits")
{
    watch_scene s;
    waiting& data = s.wait(goal::changed, made(7));
    waiting& children = s.wait(goal::children_changed, made(7));
    asked(s).to("watch exists /a").stat(made(7)).to("watch children /a").ends(outcome::no_auth).nothing_else();
    CHECK(children.ended_with(errc::access_denied));
    CHECK_FALSE(data.ended);
    s.event(event_kind::data_changed);
    asked(s).to("exists /a").ends(outcome::no_auth).nothing_else();
    CHECK(data.ended_with(errc::access_denied));
}

TEST_CASE("what is wrong with a path is told, and nothing is sent")
{
    watch_scene s;
    for (const char* path : {"", "a", "/a/", "/a//b", "/a/../b"}) {
        CAPTURE(path);
        CHECK(s.wait(goal::created, path).ended_with(errc::invalid_path));
    }
    CHECK(s.wait(goal::created, '/' + std::string(store::largest_request, 'x')).ended_with(errc::invalid_option));
    asked(s).nothing_else();
    s.wait(goal::children_changed, made(1), "/");
    asked(s).to("watch children /").nothing_else();
}
