#include "session_scene.hpp"

using namespace zklock::unit;

TEST_CASE("a grant names the node and a token made of its czxid; a release is one delete")
{
    connected_scene s;
    const auto a = s.acquire("/p");
    asked(s).all_of({"create /p/" + prefix(1), "watch /p"});
    asked(s).to("create /p/" + prefix(1)).number(42, 3).to("watch /p").alone(4, 42);
    CHECK(a->ended == error_code());
    CHECK(a->given.node == "/p/" + scene::node(1, 3));
    CHECK(a->given.fencing_token == 42 * 4096);
    CHECK(a->handle->held(s.clock.now()));
    s.release(*a);
    CHECK_FALSE(a->handle->held(s.clock.now()));
    asked(s).only("remove /p/" + scene::node(1, 3)).ends(outcome::ok);
    CHECK(a->released == error_code());
    CHECK(a->losses == 0);
    s.release(*a);
    CHECK(a->released == errc::not_owner);
}

TEST_CASE("missing parents are made, from the top, as containers where there are any")
{
    connected_scene s;
    const auto a = s.acquire("/p/q");
    asked(s).to("create /p/q/" + prefix(1)).ends(outcome::no_node);
    asked(s).all_of({"watch /p/q", "container /p/q"});
    asked(s).to("watch /p/q").ends(outcome::no_node).to("container /p/q").ends(outcome::no_node);
    asked(s).only("container /p").ends(outcome::unimplemented);
    asked(s).only("persistent /p").ends(outcome::ok);
    asked(s).only("persistent /p/q").ends(outcome::node_exists); // somebody else was faster
    asked(s).all_of({"create /p/q/" + prefix(2), "watch /p/q"});
    CHECK_FALSE(a->ended);
}

TEST_CASE("what cannot be created ends with its reason, and leaves nothing to do")
{
    const std::vector<std::pair<outcome, errc>> reasons = {{outcome::no_auth, errc::access_denied},
                                                           {outcome::no_child_allowed, errc::invalid_path},
                                                           {outcome::invalid_acl, errc::invalid_option},
                                                           {outcome::quota_exceeded, errc::quota_exceeded}};
    for (const auto& [answer, error] : reasons) {
        connected_scene s;
        const auto a = s.acquire("/p");
        asked(s).to("create /p/" + prefix(1)).ends(answer);
        CHECK(a->ended == error);
        asked(s).to("watch /p").show({}).nothing_else();
    }
    connected_scene s;
    const auto a = s.acquire("/p");
    asked(s).to("create /p/" + prefix(1)).ends(outcome::no_node).to("watch /p").ends(outcome::no_node);
    asked(s).to("container /p").ends(outcome::no_node);
    CHECK(a->ended == errc::no_such_chroot);
}

TEST_CASE("numbers that are running out are refused, and the node deleted")
{
    connected_scene s;
    const auto a = s.acquire("/p");
    asked(s).to("create /p/" + prefix(1)).number(42, 2'147'483'600);
    CHECK(a->ended == errc::sequence_exhausted);
    asked(s).to("watch /p");
    CHECK(s.servers.pending() == "remove /p/" + scene::node(1, 2'147'483'600));
    const auto b = s.acquire("/q");
    asked(s).to("remove /p/" + scene::node(1, 2'147'483'600));
    asked(s).to("create /q/" + prefix(2)).number(std::int64_t{1} << 51, 0);
    CHECK(b->ended == errc::token_exhausted);
}

TEST_CASE("attempts can be limited")
{
    connected_scene s;
    const auto a = s.acquire("/p", with(&mutex_options::max_attempts, 1));
    asked(s).to("create /p/" + prefix(1)).ends(outcome::unknown).to("watch /p").ends(outcome::unknown).nothing_else();
    s.servers.observer->on_disconnected();
    s.connect(5, false);
    CHECK(s.servers.pending() == "sync /, children /p");
    asked(s).to("sync /").ends(outcome::ok).to("children /p").list({});
    CHECK(a->ended == errc::not_connected);
}

TEST_CASE("what ended the last of the attempts is told, not what ended one before it")
{
    connected_scene s;
    const auto a = s.acquire("/p", with(&mutex_options::max_attempts, 2));
    asked(s).to("create /p/" + prefix(1)).ends(outcome::unknown).to("watch /p").ends(outcome::unknown);
    s.reconnect();
    asked(s).to("sync /").ends(outcome::ok).to("children /p").list({});
    asked(s).to("create /p/" + prefix(2)).number(43, 7); // behind others
    CHECK_FALSE(a->ended);
    s.event(store::event_kind::deleted, "/p/" + scene::node(2, 7));
    CHECK(a->ended == errc::lost);
}

TEST_CASE("a node that is found again after a cut, and deleted by others after that, ends its attempt as lost")
{
    connected_scene s;
    const auto a = s.acquire("/p", with(&mutex_options::max_attempts, 1));
    asked(s).to("create /p/" + prefix(1)).ends(outcome::unknown).to("watch /p").ends(outcome::unknown);
    s.reconnect();
    const std::string before = "_c_x-lock-0000000006", own = scene::node(1, 7);
    asked(s).to("sync /").ends(outcome::ok).to("children /p").list({before, own});
    asked(s).to("watch /p/" + own).show(5, "me");
    CHECK_FALSE(a->ended);
    s.event(store::event_kind::deleted, "/p/" + own);
    CHECK(a->ended == errc::lost);
}

TEST_CASE("a try looks before it writes")
{
    scene s;
    s.start();
    const auto early = s.acquire("/p", {}, acquire_mode::look_once);
    CHECK(early->ended == errc::not_connected);
    s.connect();
    const auto a = s.acquire("/p", {}, acquire_mode::look_once);
    asked(s).only("children /p").list({"_c_x-lock-0000000000"});
    CHECK(a->ended == errc::busy);
    asked(s).nothing_else();
    const auto b = s.acquire("/p", {}, acquire_mode::look_once);
    asked(s).to("children /p").ends(outcome::no_node);
    asked(s).to("create /p/" + prefix(1)).number(50, 1).to("watch /p").alone(2, 50);
    CHECK(b->ended == error_code());
    const auto c = s.acquire("/p", {}, acquire_mode::look_once);
    CHECK(c->ended == errc::busy);
    asked(s).nothing_else();
}

TEST_CASE("tries share a list: one is under way at a time, and who comes meanwhile has the next")
{
    connected_scene s;
    const auto a = s.acquire("/p", {}, acquire_mode::look_once);
    const auto b = s.acquire("/p", {}, acquire_mode::look_once);
    const auto c = s.acquire("/p", {}, acquire_mode::look_once);
    asked(s).only("children /p").list({"_c_x-lock-0000000000"});
    CHECK(a->ended == errc::busy);
    CHECK_FALSE(b->ended);
    SUBCASE("the first of those takes it, and the others are refused") {
        const auto d = s.acquire("/p", {}, acquire_mode::look_once);
        asked(s).only("children /p").ends(outcome::no_node);
        CHECK(c->ended == errc::busy);
        CHECK_FALSE(d->ended);
        asked(s).to("children /p").ends(outcome::no_node);
        CHECK(d->ended == errc::busy);
        asked(s).to("create /p/" + prefix(1)).number(50, 1).to("watch /p").alone(2, 50);
        CHECK(b->ended == error_code());
    }
    SUBCASE("readers and writers see in it what concerns them") {
        const auto look = [&s](contender_kind kind) { return s.acquire("/q", {}, acquire_mode::look_once, kind); };
        const auto before = look(contender_kind::reader);
        const auto writer = look(contender_kind::writer);
        const auto reader = look(contender_kind::reader);
        const auto late_writer = look(contender_kind::writer);
        const std::vector<std::string> readers{scene::node(9, 0, "__READ__")};
        asked(s).to("children /q").list(readers);
        CHECK_FALSE(before->ended);
        asked(s).to("children /q").list(readers);
        CHECK(writer->ended == errc::busy);
        CHECK_FALSE(reader->ended);
        CHECK(late_writer->ended == errc::busy);
    }
    SUBCASE("the connection ends") {
        const auto d = s.acquire("/p", {}, acquire_mode::look_once);
        asked(s).to("children /p").ends(outcome::unknown);
        s.disconnect();
        for (const auto& each : {b, c, d})
            CHECK(each->ended == errc::not_connected);
        s.connect();
        CHECK(s.servers.pending().find("children") == std::string::npos);
        const auto e = s.acquire("/p", {}, acquire_mode::look_once);
        asked(s).to("children /p").list({"_c_x-lock-0000000000"});
        CHECK(e->ended == errc::busy);
    }
}

TEST_CASE("a try that others of ours have overtaken is refused, and never waits for the budget")
{
    connected_scene s(with(&client_options::node_budget, 1));
    const auto a = s.acquire("/p", {}, acquire_mode::look_once);
    const auto b = s.acquire("/p");
    asked(s).to("children /p").list({});
    CHECK(a->ended == errc::busy);
    CHECK_FALSE(b->ended);
}

TEST_CASE("a writer that becomes a reader is looked after as a holder, whenever that is")
{
    connected_scene s;
    const auto a = s.hold_as_writer("/p");
    s.clock.pass(50ms);
    const std::string reader = scene::downgraded("/p");
    std::optional<error_code> downgraded;
    CHECK(a->handle->downgrade([&](error_code ec, const recipes::grant& g) {
        downgraded = ec;
        CHECK(g.node == reader);
    }));
    CHECK(s.servers.pending() == "batch create " + reader + ", remove " + a->given.node + " at version 0");
    s.clock.pass(60ms); // the answer is slow, and long holders are looked for meanwhile
    asked(s).to(scene::downgrade("/p")).done({reader});
    CHECK(downgraded == error_code());
    asked(s).nothing_else();
    s.clock.pass(100ms);
    CHECK(s.servers.pending() == "watch " + reader);
}

TEST_CASE("a downgrade that is refused when it is repeated may have been done before: it is asked which node exists")
{
    connected_scene s;
    const auto a = s.hold_as_writer("/p");
    const std::string writer = a->given.node;
    const std::string reader = scene::downgraded("/p");
    std::optional<error_code> downgraded;
    CHECK(a->handle->downgrade([&](error_code ec, const recipes::grant&) { downgraded = ec; }));
    asked(s).to(scene::downgrade("/p")).ends(outcome::unknown);
    s.reconnect();
    asked(s).to(scene::downgrade("/p")).ends(outcome::no_auth);
    REQUIRE(s.servers.pending().ends_with("exists " + reader));
    CHECK_FALSE(downgraded);
    SUBCASE("it was done") {
        asked(s).to("exists " + reader).ends(outcome::ok);
        CHECK(downgraded == error_code());
        s.release(*a);
        CHECK(s.servers.pending() == "remove " + reader);
    }
    SUBCASE("that cannot be asked either: all of it again, after a while") {
        asked(s).to("exists " + reader).ends(outcome::server_error);
        CHECK_FALSE(downgraded);
        s.clock.pass(2s);
        CHECK(s.servers.asks("batch create " + reader));
        CHECK_FALSE(s.servers.asks("exists"));
    }
    SUBCASE("it was not done") {
        asked(s).to("exists " + reader).ends(outcome::no_node);
        CHECK(downgraded == errc::access_denied);
        s.release(*a);
        CHECK(s.servers.pending() == "remove " + writer);
    }
}

TEST_CASE("a delete that is refused is reported, and tried again; the client's next acquire does not wait for it")
{
    const std::vector<std::pair<outcome, errc>> reasons = {{outcome::no_auth, errc::access_denied},
                                                           {outcome::server_error, errc::server_error}};
    for (const auto& [answer, error] : reasons) {
        connected_scene s;
        const auto a = s.hold("/p", 0);
        s.release(*a);
        CHECK_FALSE(a->handle->held(s.clock.now()));
        asked(s).to("remove /p/" + scene::node(1, 0)).ends(answer);
        CHECK(a->released == error);
        const auto next = s.enqueue("/p", 1);
        if (s.servers.asks("watch /p")) { // by one who counts on no event since it was refused something
            asked(s).to("watch /p").show(two_children(101));
        }
        if (s.servers.asks("children /p"))
            asked(s).to("children /p").list({scene::node(1, 0), scene::node(2, 1)});
        CHECK(next->ended == error_code());
        s.clock.pass(1s);
        s.answer_syncs();
        asked(s).to("remove /p/" + scene::node(1, 0)).ends(outcome::ok);
        s.clock.pass(1s);
        CHECK_FALSE(s.servers.asks("remove"));
        CHECK(next->handle->held(s.clock.now()));
    }
}

TEST_CASE("closing ends everything with its word, then says that it is done")
{
    connected_scene s;
    const auto holder = s.hold("/p", 0);
    const auto leaving = s.hold("/q", 0);
    s.release(*leaving);
    const auto waiter = s.acquire("/p");
    int closed = 0;
    s.session->close([&] { ++closed; });
    s.session->close([&] { ++closed; });
    s.clock.run();
    CHECK(waiter->ended == errc::closed);
    CHECK(holder->losses == 1);
    CHECK_FALSE(holder->handle->held(s.clock.now()));
    CHECK(leaving->released == errc::closed);
    CHECK(s.session->state() == connection_state::closed);
    CHECK(closed == 0);
    s.servers.closed();
    s.clock.run();
    CHECK(closed == 2);
    CHECK(s.acquire("/p")->ended == errc::closed);
    s.session->close([&] { ++closed; });
    s.clock.run();
    CHECK(closed == 3);
}

TEST_CASE("a deadline does not outlive the session")
{
    connected_scene s;
    recipes::acquire_request request;
    request.path = "/p";
    request.deadline = s.clock.now() + 1s;
    bool told = false;
    request.done = [&](error_code, const recipes::grant&) { told = true; };
    const auto waiting = s.locks->acquire(std::move(request));
    s.destroy();
    s.clock.pass(2s);
    CHECK_FALSE(told);
    CHECK_FALSE(waiting->withdraw());
}

TEST_CASE("bad input is told, not thrown")
{
    connected_scene s;
    for (const std::string path : {"", "p", "/", "/p/", "//p", "/p//q"})
        CHECK(s.acquire(path)->ended == errc::invalid_path);
    for (const std::string& identifier : {std::string(70'000, 'x'), std::string("a\nb")})
        CHECK(s.acquire("/p", with(&mutex_options::identifier, identifier))->ended == errc::invalid_option);
    const auto a = s.acquire("/p");
    CHECK(s.acquire("/p", with(&mutex_options::names, naming::kazoo))->ended == errc::invalid_option);
    CHECK(s.acquire("/p", with(&mutex_options::linger, 1s))->ended == errc::invalid_option);
    CHECK(s.acquire("/p", with(&mutex_options::cohort, 2))->ended == errc::invalid_option);
    CHECK_FALSE(a->ended);
    for (const auto linger : {-1ms, std::chrono::milliseconds(25h)})
        CHECK(s.acquire("/q", with(&mutex_options::linger, linger))->ended == errc::invalid_option);
    for (const unsigned cohort : {0u, 4097u})
        CHECK(s.acquire("/q", with(&mutex_options::cohort, cohort))->ended == errc::invalid_option);
}

TEST_CASE("what a server refuses to show is not asked for again at once")
{
    connected_scene s;
    const auto a = s.acquire("/p");
    asked(s).to("create /p/" + prefix(1)).ends(outcome::unknown).to("watch /p").ends(outcome::unknown);
    s.reconnect();
    CHECK(s.servers.pending() == "sync /, children /p");
    asked(s).to("sync /").ends(outcome::ok).to("children /p").ends(outcome::no_auth);
    CHECK(a->ended == errc::access_denied);
    asked(s).nothing_else();
    s.clock.pass(1s);
    asked(s).only("children /p").list({scene::node(1, 3)}).only("remove /p/" + scene::node(1, 3)).ends(outcome::ok);

    const auto b = s.hold("/q", 0);
    s.clock.pass(200ms);
    asked(s).only("watch " + b->given.node).ends(outcome::no_auth).nothing_else();
    s.clock.pass(1s);
    CHECK(s.servers.pending() == "watch " + b->given.node);
    CHECK(b->losses == 0);
}

TEST_CASE("news of the connection that was on its way at the close changes nothing")
{
    scene s;
    s.start();
    const auto a = s.acquire("/p");
    s.session->close({});
    s.clock.run();
    CHECK(a->ended == errc::closed);
    s.connect();
    s.clock.pass(10s);
    asked(s).nothing_else();
    CHECK(s.session->state() == connection_state::closed);
    s.servers.observer->on_disconnected();
    CHECK(s.session->state() == connection_state::closed);
}

TEST_CASE("of several changes of the state at once, the last is told")
{
    scene s;
    s.start();
    std::vector<connection_state> told;
    s.session->on_state([&](connection_state now) { told.push_back(now); });
    s.connect();
    s.servers.observer->on_disconnected();
    CHECK(s.session->state() == connection_state::suspended);
    s.expire();
    s.disconnect();
    using enum connection_state;
    CHECK(told == std::vector{connected, connecting, suspended});
}
