#include "session_scene.hpp"

using namespace zklock::unit;

namespace {

const std::string request(queue::revocation_request);

/// Counts how often it is asked.
int& count_requests(scene& s, scene::attempt& a, int& times_asked)
{
    a.handle->on_revoked([&times_asked] { ++times_asked; });
    CHECK(times_asked == 0);
    s.clock.run();
    return times_asked;
}

void data_changed(scene& s, const std::string& node)
{
    s.event(store::event_kind::data_changed, node);
}

void show(scene& s, const std::string& node, const std::string& data)
{
    asked(s).to("watch " + node).show(5, data);
}

} // namespace

TEST_CASE("whoever wants to be asked has its node watched at once, and each change looked at")
{
    connected_scene s;
    const auto a = s.hold("/p", 3);
    const std::string node = "/p/" + scene::node(1, 3);
    asked(s).nothing_else();
    int times_asked = 0;
    count_requests(s, *a, times_asked);
    CHECK(s.servers.pending() == "watch " + node);
    show(s, node, "me");
    data_changed(s, node);
    CHECK(s.servers.pending() == "watch " + node);
    show(s, node, "me\nnote=1");
    data_changed(s, node);
    CHECK(s.servers.pending() == "watch " + node);
    CHECK(times_asked == 0);
    show(s, node, request);
    CHECK(times_asked == 1);
    data_changed(s, node); // asked again: it knows
    show(s, node, request);
    CHECK(times_asked == 1);
    CHECK(a->losses == 0);
    CHECK(a->handle->held(s.clock.now()));
    s.release(*a);
    CHECK(s.servers.pending() == "remove " + node);
}

TEST_CASE("a request that came before is seen: before the wait, and before the grant")
{
    connected_scene s;
    auto a = s.hold("/p", 3);
    int times_asked = 0;
    count_requests(s, *a, times_asked);
    show(s, "/p/" + scene::node(1, 3), request);
    CHECK(times_asked == 1);

    // Behind another client, so that its node is watched and read while it waits.
    const auto b = s.acquire("/q");
    asked(s).to("create /q/" + prefix(2)).number(50, 1).to("watch /q").show(two_children());
    asked(s).to("children /q").list({scene::node(2, 1), "_c_00000000-0000-4000-8000-999999999999-lock-0000000000"});
    CHECK(s.servers.pending() ==
          "watch /q/" + scene::node(2, 1) + ", watch /q/_c_00000000-0000-4000-8000-999999999999-lock-0000000000");
    show(s, "/q/" + scene::node(2, 1), request);
    asked(s).to("watch /q/_c_00000000-0000-4000-8000-999999999999-lock-0000000000").kept().show(6, "somebody");
    CHECK_FALSE(b->ended);
    s.servers.observer->on_node_event(store::event_kind::deleted,
                                      "/q/_c_00000000-0000-4000-8000-999999999999-lock-0000000000");
    s.clock.run();
    REQUIRE(b->ended == error_code());
    asked(s).nothing_else();
    int asked_later = 0;
    count_requests(s, *b, asked_later);
    CHECK(asked_later == 1);
    asked(s).nothing_else();
}

TEST_CASE("nobody is asked after the release, nor after the loss, nor for another's node")
{
    connected_scene s;
    const auto a = s.hold("/p", 3);
    int times_asked = 0;
    count_requests(s, *a, times_asked);
    s.release(*a);
    show(s, "/p/" + scene::node(1, 3), request);
    CHECK(times_asked == 0);
    asked(s).only("remove /p/" + scene::node(1, 3)).ends(outcome::ok);

    const auto b = s.hold("/q", 3);
    count_requests(s, *b, times_asked);
    s.servers.observer->on_node_event(store::event_kind::deleted, "/q/" + scene::node(2, 3));
    asked(s).to("watch /q/" + scene::node(2, 3)).show(5, request);
    CHECK(b->losses == 1);
    CHECK(times_asked == 0);
    b->handle->on_revoked([&times_asked] { ++times_asked; });
    s.clock.run();
    CHECK(times_asked == 0);
}

TEST_CASE("a new connection looks at the node again, a new node has not been asked")
{
    connected_scene s;
    const auto a = s.hold("/p", 3);
    int times_asked = 0;
    count_requests(s, *a, times_asked);
    asked(s).to("watch /p/" + scene::node(1, 3)).ends(outcome::unknown);
    s.reconnect();
    CHECK(s.servers.pending() == "watch /p/" + scene::node(1, 3));
    show(s, "/p/" + scene::node(1, 3), request);
    CHECK(times_asked == 1);
}

TEST_CASE("a node that is to be given up neither lingers nor is passed on")
{
    for (const bool cohort : {false, true}) {
        connected_scene s;
        mutex_options o;
        o.linger = cohort ? 0ms : 10'000ms;
        o.cohort = cohort ? 4 : 1;
        const auto a = s.hold("/p", 3, o);
        int times_asked = 0;
        count_requests(s, *a, times_asked);
        show(s, "/p/" + scene::node(1, 3), request);
        const auto b = s.acquire("/p", o);
        if (!cohort)
            asked(s).to("create /p/" + prefix(2)).number(104, 4); // queues behind the one that holds
        s.release(*a);
        CHECK_FALSE(a->released);
        CHECK(s.servers.asks("remove /p/" + scene::node(1, 3)));
        CHECK_FALSE((cohort && b->ended)); // it needs a node of its own
    }
}

TEST_CASE("a request that a downgrade meets goes on to the reader's node")
{
    for (const bool gives_up : {false, true}) {
        connected_scene s;
        const auto a = s.hold_as_writer("/p");
        const std::string reader = scene::downgraded("/p");
        std::optional<error_code> downgraded;
        a->handle->downgrade([&](error_code ec, const recipes::grant&) { downgraded = ec; });
        REQUIRE(s.servers.requests.size() == 1);
        CHECK(s.servers.requests.front().writes.at(0).data == "me");
        CHECK(s.servers.requests.front().writes.at(1).version == 0);
        asked(s).to(scene::downgrade("/p")).ends(outcome::bad_version);
        CHECK(s.servers.pending() == "get " + a->given.node);
        if (gives_up)
            s.release(*a);
        asked(s).to("get /p/" + scene::node(1, 0, "__WRIT__")).show_version(3, request);
        CHECK_FALSE(downgraded);
        REQUIRE(s.servers.requests.size() == 1);
        if (gives_up) {
            CHECK(s.servers.pending() == "remove " + a->given.node);
            continue;
        }
        const auto again = asked(s).to_batch_of(2).kept();
        CHECK(again.writes.at(0).path == reader);
        CHECK(again.writes.at(0).data == request);
        CHECK(again.writes.at(1).path == a->given.node);
        CHECK(again.writes.at(1).version == 3);
        again.done({reader});
        s.clock.run();
        CHECK(downgraded == error_code());
        int times_asked = 0;
        CHECK(count_requests(s, *a, times_asked) == 1);
        asked(s).nothing_else();
    }
}

TEST_CASE("what a downgrade finds: no node, no connection, no permission")
{
    for (const outcome found : {outcome::no_node, outcome::unknown, outcome::no_auth}) {
        connected_scene s;
        const auto a = s.hold_as_writer("/p");
        std::optional<error_code> downgraded;
        a->handle->downgrade([&](error_code ec, const recipes::grant&) { downgraded = ec; });
        asked(s).to(scene::downgrade("/p")).ends(outcome::bad_version);
        asked(s).to("get /p/" + scene::node(1, 0, "__WRIT__")).ends(found);
        switch (found) {
        case outcome::no_node:
            CHECK(downgraded == errc::lost);
            CHECK(a->losses == 1);
            break;
        case outcome::unknown:
            CHECK_FALSE(downgraded);
            s.servers.observer->on_disconnected();
            s.connect(5, false);
            CHECK(s.servers.asks("batch create"));
            break;
        default:
            asked(s).to("exists " + scene::downgraded("/p")).ends(outcome::no_node); // of a reader, either
            CHECK(downgraded == errc::access_denied);
            CHECK(a->handle->held(s.clock.now()));
        }
    }
}

TEST_CASE("a writer that has become a reader is asked by its new node")
{
    connected_scene s;
    const std::string uuid = "_c_00000000-0000-4000-8000-999999999999-";
    std::optional<std::size_t> told;
    recipes::revoke(*s.session, "/p", "/p/" + uuid + "__WRIT__0000000003",
                    [&](error_code, std::size_t n) { told = n; });
    asked(s).to("set /p/" + uuid + "__WRIT__0000000003").ends(outcome::no_node);
    asked(s).only("set /p/" + uuid + "__READ__0000000003").ends(outcome::ok);
    CHECK(told == 1);
    told.reset();
    recipes::revoke_holders(*s.session, "/p", [&](error_code, std::size_t n) { told = n; });
    asked(s)
        .to("children /p")
        .list({uuid + "__READ__0000000003", "_c_1-__READ__0000000004", uuid + "__WRIT__0000000005"});
    asked(s).all_of({"set /p/" + uuid + "__READ__0000000003", "set /p/_c_1-__READ__0000000004"});
    asked(s).to("set /p/" + uuid + "__READ__0000000003").ends(outcome::no_node); // gone for good: no writer
    CHECK_FALSE(told);
    asked(s).to("set /p/_c_1-__READ__0000000004").ends(outcome::ok);
    CHECK(told == 1);
}

TEST_CASE("the nodes of permits are asked, whatever they are called")
{
    connected_scene s;
    std::optional<std::size_t> told;
    const auto answer = [&](error_code ec, std::size_t n) { told = ec ? 100 : n; };
    recipes::revoke(*s.session, "/p/leases", "/p/leases/_c_1-lease-0000000003", answer, recipes::list_kind::permits);
    asked(s).to("set /p/leases/_c_1-lease-0000000003").ends(outcome::ok);
    CHECK(told == 1);
    recipes::revoke(*s.session, "/p/leases", "/p/locks/_c_1-lease-0000000003", answer, recipes::list_kind::permits);
    s.clock.run();
    CHECK(told == 100);
    recipes::revoke_holders(*s.session, "/p/leases", answer, recipes::list_kind::permits);
    asked(s).to("children /p/leases").list({"_c_1-lease-0000000003", "0a1b"});
    asked(s).all_of({"set /p/leases/_c_1-lease-0000000003", "set /p/leases/0a1b"});
    asked(s).to("set /p/leases/_c_1-lease-0000000003").ends(outcome::ok).to("set /p/leases/0a1b").ends(outcome::ok);
    CHECK(told == 2);
}

TEST_CASE("asking a contender is one request, asking the holder is two")
{
    connected_scene s;
    std::optional<std::size_t> told;
    std::optional<error_code> failed;
    const auto answer = [&](error_code ec, std::size_t asked) {
        CHECK_FALSE(told);
        told = asked;
        failed = ec;
    };
    const auto begin = [&] { told.reset(); };

    recipes::revoke(*s.session, "/p", "/p/" + scene::node(9, 7), answer);
    asked(s).only("set /p/" + scene::node(9, 7)).ends(outcome::ok);
    CHECK(told == 1);
    begin();
    recipes::revoke(*s.session, "/p", "/p/" + scene::node(9, 7), answer);
    asked(s).to("set /p/" + scene::node(9, 7)).ends(outcome::no_node); // it has let go
    CHECK(told == 0);
    CHECK(failed == error_code());
    begin();
    recipes::revoke(*s.session, "/p", "/q/" + scene::node(9, 7), answer);
    s.clock.run();
    CHECK(failed == errc::invalid_path);
    begin();
    recipes::revoke(*s.session, "/p", "/p/notes", answer); // no contender's: its data are not to be overwritten
    asked(s).nothing_else();
    s.clock.run();
    CHECK(failed == errc::invalid_path);
    begin();
    recipes::revoke(*s.session, "/p", "/p/" + scene::node(9, 7), answer);
    asked(s).to("set /p/" + scene::node(9, 7)).ends(outcome::no_auth);
    CHECK(failed == errc::access_denied);

    begin();
    recipes::revoke_holders(*s.session, "/p", answer);
    const std::string first = "_c_00000000-0000-4000-8000-999999999999-lock-0000000007";
    asked(s).only("children /p").list({"notes", scene::node(3, 8), first});
    // The connection ends: the same contender is asked once more, and nobody else is looked for.
    asked(s).only("set /p/" + first).ends(outcome::unknown);
    CHECK_FALSE(told);
    s.servers.observer->on_disconnected();
    s.connect(5, false);
    asked(s).only("set /p/" + first).ends(outcome::ok); // without a sync
    CHECK(told == 1);
    CHECK(failed == error_code());
    begin();
    recipes::revoke_holders(*s.session, "/p", answer);
    CHECK(s.servers.pending() == "sync /, children /p"); // the first that is read on this connection
    asked(s).to("sync /").ends(outcome::ok).to("children /p").ends(outcome::no_node);
    CHECK(told == 0);
    CHECK(failed == error_code());
    begin();
    const auto withdrawn = recipes::revoke_holders(*s.session, "/p", answer);
    CHECK(withdrawn->withdraw() == recipes::user_request::withdrawal::withdrawn);
    CHECK(withdrawn->withdraw() == recipes::user_request::withdrawal::ended);
    asked(s).to("children /p").list({scene::node(3, 8)});
    CHECK_FALSE(told);
    asked(s).nothing_else();
}
