// The user's own operations on nodes while connections come and go: what is sent when, what again, and how it ends with
// the client.
#include "node_scene.hpp"

#include <ctime>

using namespace zklock::unit;
using withdrawal = recipes::user_request::withdrawal;

TEST_CASE("they wait for a connection, in their order; one that is withdrawn meanwhile is never sent")
{
    node_scene s;
    told<> first, withdrawn;
    told<node_content> last;
    nodes::create(*s.session, "/a", "", node_kind::persistent, {}, first.teller());
    const auto given_up = nodes::create(*s.session, "/b", "", node_kind::persistent, {}, withdrawn.teller());
    nodes::get(*s.session, "/a", last.teller());
    CHECK(given_up->withdraw() == withdrawal::withdrawn);
    CHECK(given_up->withdraw() == withdrawal::ended);
    CHECK(s.servers.pending().empty());
    s.connect();
    CHECK(s.servers.pending() == "persistent /a, get /a");
    CHECK_FALSE(withdrawn.ended);
}

TEST_CASE("many may wait for a connection, before their first try or after")
{
    constexpr int many = 30'000;
    node_scene s;
    int ended = 0;
    const auto read = [&](int times) {
        for (int i = 0; i < times; ++i)
            nodes::exists(*s.session, "/a", [&](error_code, std::optional<node_stat>) { ++ended; });
    };
    const std::clock_t began = std::clock();
    read(many);
    s.connect();
    CHECK(s.servers.requests.size() == 64);
    asked(s).to("exists /a").ends(outcome::unknown);
    read(many); // the connection is known to be over
    while (!s.servers.requests.empty())
        asked(s).to("exists /a").kept().answer(outcome::unknown); // these go before them
    s.disconnect();
    s.connect(5, false);
    CHECK(s.servers.requests.size() == 64 + 1); // behind a sync
    while (!s.servers.requests.empty())
        s.servers.take().answer(outcome::ok);
    s.clock.run();
    CHECK((std::clock() - began) / CLOCKS_PER_SEC < 4); // of the processor; a fraction of it is needed
    CHECK(ended == 2 * many);
}

TEST_CASE("a read whose answer is lost is sent again; a write is not, and the reads after it wait for a sync")
{
    connected<node_scene> s;
    told<node_content> read, after;
    told<node_stat> written;
    nodes::get(*s.session, "/a", read.teller());
    nodes::set(*s.session, "/a", "x", any_version, written.teller());
    asked(s).to("get /a").ends(outcome::unknown).to("set /a").ends(outcome::unknown);
    CHECK(written.ended_with(errc::outcome_unknown));
    CHECK_FALSE(read.ended);
    nodes::get(*s.session, "/a", after.teller()); // the connection is known to be over
    CHECK(s.servers.pending().empty());
    s.disconnect();
    s.reappear();
    CHECK(s.servers.pending() == "sync /, get /a, get /a");
    asked(s).to("sync /").ends(outcome::unknown);
    asked(s).to("get /a").ends(outcome::unknown);
    asked(s).to("get /a").ends(outcome::unknown);
    s.disconnect();
    s.reappear();
    CHECK(s.servers.pending() == "sync /, get /a, get /a"); // it had not caught up
    asked(s).to("sync /").ends(outcome::ok).to("get /a").show(0, "x");
    CHECK(read.value.data == "x");
    asked(s).to("get /a").ends(outcome::unknown);
    s.disconnect();
    s.reappear();
    CHECK(s.servers.pending() == "sync /, get /a"); // on each connection
}

TEST_CASE("on every connection but the first, what is read first waits for a sync; what is written does not")
{
    connected<node_scene> s;
    told<node_content> first, second, third;
    told<std::vector<std::string>> list;
    told<node_stat> written;
    nodes::get(*s.session, "/a", first.teller());
    asked(s).only("get /a").kept().show(0, "x");
    s.disconnect();
    s.reappear();
    asked(s).nothing_else();
    nodes::set(*s.session, "/a", "y", any_version, written.teller());
    nodes::get(*s.session, "/a", second.teller());
    nodes::children(*s.session, "/a", list.teller());
    CHECK(s.servers.pending() == "set /a, sync /, get /a, children /a");
    asked(s).to("set /a").ends(outcome::ok).to("sync /").ends(outcome::ok);
    asked(s).to("get /a").kept().show(0, "y");
    asked(s).to("children /a").list({"b"});
    CHECK(second.value.data == "y");
    CHECK(list.value == std::vector<std::string>{"b"});
    nodes::get(*s.session, "/a", third.teller());
    asked(s).only("get /a").kept().show(0, "y");
    // Contenders, too, and in a new session.
    s.servers.observer->on_disconnected();
    s.servers.observer->on_expired();
    s.servers.observer->on_connected({6, 10s, true, s.clock.now()});
    s.clock.run();
    std::optional<error_code> listed;
    recipes::list_contenders(*s.session, "/p",
                             [&](error_code ec, const std::vector<zklock::contender>&) { listed = ec; });
    CHECK(s.servers.pending() == "sync /, children /p");
}

TEST_CASE("what is read behind a sync that is refused may be too old: its user is told why, and the next asks again")
{
    int logged = 0;
    node_scene s([&](client_options& o) { o.log = [&logged](log_level, std::string_view) { ++logged; }; });
    s.connect();
    s.disconnect();
    s.reappear();
    told<node_content> old, again, read;
    nodes::get(*s.session, "/a", old.teller());
    asked(s).to("sync /").ends(outcome::no_auth).to("get /a").show(0, "x");
    CHECK(old.ended_with(errc::access_denied));
    nodes::get(*s.session, "/a", again.teller());
    CHECK(s.servers.pending() == "sync /, get /a");
    asked(s).to("sync /").ends(outcome::server_error).to("get /a").show(0, "x");
    CHECK(again.ended_with(errc::server_error));
    CHECK(logged == 1); // once for a connection
    nodes::get(*s.session, "/a", read.teller());
    CHECK(s.servers.pending() == "sync /, get /a");
    asked(s).to("sync /").ends(outcome::ok).to("get /a").show(0, "y");
    CHECK(read.value.data == "y");
}

TEST_CASE("a write that was sent cannot be taken back; a read can")
{
    connected<node_scene> s;
    told<node_content> read;
    told<node_stat> written;
    told_end removed;
    const auto reading = nodes::get(*s.session, "/a", read.teller());
    const auto writing = nodes::set(*s.session, "/a", "x", any_version, written.teller());
    const auto removing = nodes::remove(*s.session, "/a", any_version, removed.teller());
    removing->end_unsent(errc::not_owner); // it left
    CHECK(reading->withdraw() == withdrawal::withdrawn);
    CHECK(writing->withdraw() == withdrawal::too_late);
    asked(s).to("get /a").ends(outcome::no_node);
    asked(s).to("set /a").ends(outcome::no_node);
    asked(s).to("remove /a").ends(outcome::no_node);
    CHECK_FALSE(read.ended);
    CHECK_FALSE(written.ended);
    CHECK(removed.ended == errc::no_node);
    CHECK(removing->withdraw() == withdrawal::ended);
}

TEST_CASE("what never left is sent on the next connection, once and in the order of the calls")
{
    connected<node_scene> s;
    told<> lost, created, never;
    told<node_stat> written;
    told_end removed, aborted;
    told<commit_result> committed;
    nodes::create(*s.session, "/lost", "", node_kind::persistent, {}, lost.teller());
    const auto creating = nodes::create(*s.session, "/a", "", node_kind::persistent, {}, created.teller());
    nodes::set(*s.session, "/a", "x", any_version, written.teller());
    const auto ending = nodes::create(*s.session, "/never", "", node_kind::persistent, {}, never.teller());
    const auto removing = nodes::remove(*s.session, "/b", any_version, aborted.teller());
    nodes::remove(*s.session, "/c", any_version, removed.teller());
    asked(s).to("persistent /lost").ends(outcome::unknown);
    CHECK(lost.ended_with(errc::outcome_unknown));
    nodes::commit(*s.session, transaction().check("/d"), {}, committed.teller()); // meanwhile
    ending->end_unsent(errc::not_owner);
    for (int i = 0; i < 5; ++i) {
        s.servers.take().never_leaves();
        s.clock.run();
    }
    CHECK_FALSE(created.ended);
    CHECK_FALSE(written.ended);
    CHECK(never.ended_with(errc::not_owner));
    CHECK(removing->withdraw() == withdrawal::withdrawn);
    s.disconnect();
    s.reappear();
    CHECK(s.servers.pending() == "persistent /a, set /a, remove /c, batch check /d");
    CHECK(creating->withdraw() == withdrawal::too_late); // now it left
    asked(s).to("persistent /a").ends(outcome::ok).to("set /a").ends(outcome::unknown);
    CHECK(written.ended_with(errc::outcome_unknown));
    CHECK_FALSE(aborted.ended);
    CHECK_FALSE(created.ended);
    s.session->close([] {});
    asked(s).to("remove /c").kept().never_leaves();
    asked(s).to("batch check /d").never_leaves();
    CHECK(removed.ended == errc::closed);
    CHECK(committed.ended_with(errc::closed));
}

TEST_CASE("a close ends what waits; what was sent has the answer that the store has for it")
{
    connected<node_scene> s;
    told<node_content> read;
    told<node_stat> written;
    told<> waiting, late;
    nodes::get(*s.session, "/a", read.teller());
    nodes::set(*s.session, "/a", "x", any_version, written.teller());
    bool closed = false;
    s.session->close([&] { closed = true; });
    nodes::create(*s.session, "/late", "", node_kind::persistent, {}, late.teller());
    asked(s).to("get /a").ends(outcome::unknown).to("set /a").ends(outcome::unknown);
    s.servers.closed();
    s.clock.run();
    CHECK(closed);
    CHECK(read.ended_with(errc::closed));
    CHECK(written.ended_with(errc::outcome_unknown));
    CHECK(late.ended_with(errc::closed));

    node_scene never;
    nodes::create(*never.session, "/a", "", node_kind::persistent, {}, waiting.teller());
    never.servers.observer->on_authentication_failed();
    never.clock.run();
    CHECK(waiting.ended_with(errc::authentication_failed));
}
