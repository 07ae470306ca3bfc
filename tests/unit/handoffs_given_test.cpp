// Locks handed over past the servers: what a client tells others of its nodes, and when.
#include "handoff_scene.hpp"

using namespace zklock::unit;

namespace {

/// With a user who writes.
struct writing_scene : handoff_scene {
    told<node_stat> written;

    auto write() { return recipes::nodes::set(*session, "/d", "x", any_version, written.teller()); }
};

} // namespace

TEST_CASE("a node's name has the commitment to a secret, and its data say where its client is")
{
    handoff_scene s;
    const auto a = s.acquire("/p");
    CHECK(s.servers.requests.front().what == to_create(1));
    CHECK(s.servers.requests.front().data == "me\nhandoff=10.0.0.1:7000");
    CHECK(s.peers.heard() == "offer #1");
    asked(s).to(to_create(1)).number(100, 0).to("watch /p").alone(1, 100);
    CHECK(a->given.node == of_path(fake_peers::node(1, 0)));
    const auto b = s.acquire("/p");
    CHECK(s.peers.heard() == "offer #2");
    asked(s).only(to_create(2));
}

TEST_CASE("nobody can reach the client: then the data do not say where it is")
{
    handoff_scene s;
    s.peers.at.clear();
    const auto a = s.acquire("/p");
    CHECK(s.servers.requests.front().data == "me");
    asked(s).to(to_create(1));
}

TEST_CASE("data that are all an id for others are left alone, and so is the line of a semaphore")
{
    handoff_scene s;
    recipes::acquire_request request;
    request.path = "/p";
    request.done = [](error_code, const recipes::grant&) {};
    SUBCASE("an election")
        request.hands_over = false;
    SUBCASE("a line")
        request.internal = true;
    const auto a = s.locks->acquire(std::move(request));
    s.clock.run();
    CHECK(s.servers.requests.front().what == "create /p/" + prefix(1));
    CHECK(s.servers.requests.front().data == "me");
    CHECK(s.peers.heard() == "");
}

TEST_CASE("a release is told right before its delete goes, in the same turn")
{
    handoff_scene s;
    const auto a = s.hold_first();
    s.release(*a);
    CHECK(s.peers.heard() == "publish #1");
    CHECK(s.peers.sent_before == "");
    asked(s).only("remove " + a->given.node).ends(outcome::ok);
    CHECK(a->released == error_code());
    CHECK(s.peers.heard() == "");
}

TEST_CASE("nothing is told while the delete waits for others' writes")
{
    handoff_scene s;
    const auto a = s.hold_first();
    const auto next = s.acquire("/p");
    asked(s).to(to_create(2)).number(101, 1);
    const auto elsewhere = [](const char* path, int secret) {
        return std::string("create ") + path + to_create(secret).substr(std::string_view("create /p").size());
    };
    const auto b = s.acquire("/b"), c = s.acquire("/c");
    const auto create_b = asked(s).to(elsewhere("/b", 3)).kept();
    const auto create_c = asked(s).to(elsewhere("/c", 4)).kept();
    CHECK(s.peers.heard() == "offer #2, offer #3, offer #4");
    s.release(*a);
    CHECK(next->ended == error_code());
    CHECK_FALSE(s.servers.asks("remove " + a->given.node));
    CHECK(s.peers.heard() == "");
    create_b.number(102, 0);
    s.clock.run();
    CHECK(s.servers.asks("remove " + a->given.node));
    CHECK(s.peers.heard() == "publish #1");
}

TEST_CASE("a wait that is given up is told, too")
{
    handoff_scene s;
    const auto a = s.wait_behind("them");
    s.withdraw(*a);
    CHECK(s.peers.heard() == "publish #1");
}

TEST_CASE("what is lost is not told")
{
    handoff_scene s;
    const auto a = s.hold_first();
    SUBCASE("the lease ends") {
        s.clock.pass(20s);
        CHECK(a->losses == 1);
        s.answer_syncs();
        asked(s).to("remove " + a->given.node);
    }
    SUBCASE("the session ends") {
        s.lose_connection();
        s.expire();
    }
    SUBCASE("others delete the node")
        s.is_gone(1, 0);
    CHECK(a->losses == 1);
    CHECK(s.peers.heard() == "withdraw #1");
}

TEST_CASE("of a client that is closed nothing is told")
{
    handoff_scene s;
    const auto a = s.hold_first();
    s.close();
    CHECK(s.peers.heard() == "");
}

TEST_CASE("a create that was given up is not told")
{
    handoff_scene s;
    const auto a = s.acquire("/p");
    CHECK(s.peers.heard() == "offer #1");
    s.withdraw(*a);
    asked(s).to(to_create(1)).number(100, 0);
    CHECK(s.peers.heard() == "withdraw #1");
    CHECK(s.servers.asks("remove /p/"));
}

TEST_CASE("a new node has a new secret")
{
    handoff_scene s;
    const auto a = s.wait_behind("them");
    s.is_gone(1, 2);
    CHECK(s.peers.heard() == "withdraw #1, offer #2");
    CHECK(s.servers.asks(to_create(2)));
}

TEST_CASE("released while there is no connection: told with the delete")
{
    handoff_scene s;
    const auto a = s.hold_first();
    s.lose_connection();
    s.release(*a);
    CHECK(s.peers.heard() == "");
    s.reconnect();
    CHECK(s.peers.heard() == "publish #1");
    CHECK(s.servers.asks("remove " + a->given.node));
}

TEST_CASE("where a write of a user was there while it was held, the servers tell it alone")
{
    writing_scene s;
    told<commit_result> done;
    told<std::size_t> revoked;
    std::shared_ptr<scene::attempt> a;
    SUBCASE("under way when it was granted, and when it was released") {
        s.write();
        a = s.hold_first();
    }
    SUBCASE("under way when it was granted") {
        s.write();
        a = s.hold_first();
        asked(s).to("set /d").stat({});
    }
    SUBCASE("done meanwhile") {
        a = s.hold_first();
        s.write();
        asked(s).to("set /d").stat({});
        CHECK(s.written.ended == error_code());
    }
    SUBCASE("refused meanwhile") {
        a = s.hold_first();
        s.write();
        asked(s).to("set /d").ends(outcome::bad_version);
    }
    SUBCASE("withdrawn, and under way") {
        a = s.hold_first();
        s.write()->withdraw();
    }
    SUBCASE("whose answer was lost") {
        a = s.hold_first();
        s.write();
        s.lose_connection();
        s.reconnect();
    }
    SUBCASE("a transaction") {
        a = s.hold_first();
        transaction t;
        t.set("/d", "x");
        recipes::nodes::commit(*s.session, std::move(t), {}, done.teller());
    }
    SUBCASE("a request to let go") {
        a = s.hold_first();
        recipes::revoke(*s.session, "/other", "/other/_c_lock-0000000001", revoked.teller());
    }
    s.release(*a);
    CHECK(s.peers.heard() == "withdraw #1");
}

TEST_CASE("a write that was done before the grant is no matter, nor is a read")
{
    writing_scene s;
    told<node_content> read;
    s.write();
    asked(s).to("set /d").stat({});
    const auto a = s.hold_first();
    recipes::nodes::get(*s.session, "/d", read.teller());
    s.release(*a);
    CHECK(s.peers.heard() == "publish #1");
}

TEST_CASE("a write whose outcome is unknown counts until one was done over a later connection")
{
    writing_scene s;
    s.write();
    s.lose_connection();
    CHECK(s.written.ended_with(errc::outcome_unknown));
    s.reconnect();
    const auto a = s.hold_first(); // by a create that was done over it
    s.release(*a);
    CHECK(s.peers.heard() == "publish #1");
}

TEST_CASE("a node that lingers does so until somebody waits for it")
{
    handoff_scene s;
    const auto a = s.hold_first(with(&mutex_options::linger, 1s));
    SUBCASE("afterwards") {
        s.release(*a);
        asked(s).to("watch children /p").list({fake_peers::node(1, 0)}, children_of(1, 100)).nothing_else();
        CHECK(s.peers.heard() == "");
        store::commitment c = s.peers.commitment_to(fake_peers::secret_of(1));
        s.peers.observer->on_awaited(c);
        s.clock.run();
    }
    SUBCASE("before") {
        s.peers.waited_for.insert(1);
        s.release(*a);
    }
    CHECK(s.peers.heard() == "publish #1");
    asked(s).only("remove " + a->given.node);
}

TEST_CASE("a node that is passed on takes its secret along, and is told once, by the last")
{
    writing_scene s;
    const auto cohort = with(&mutex_options::cohort, 2);
    const auto a = s.hold_first(cohort);
    const auto b = s.acquire("/p", cohort);
    s.release(*a);
    REQUIRE(b->ended == error_code());
    CHECK(s.peers.heard() == "");
    SUBCASE("without a write") {
        s.release(*b);
        CHECK(s.peers.heard() == "publish #1");
    }
    SUBCASE("with one") {
        s.write();
        s.release(*b);
        CHECK(s.peers.heard() == "withdraw #1");
    }
}

TEST_CASE("of a downgrade nothing is told before the reader lets go")
{
    handoff_scene s;
    const auto a = s.acquire("/p", {}, acquire_mode::wait, contender_kind::writer);
    asked(s).to(to_create(1, "__WRIT__")).number(100, 0).to("watch /p").alone(1, 100);
    REQUIRE(a->ended == error_code());
    std::optional<error_code> shares;
    a->handle->downgrade([&](error_code ec, const recipes::grant&) { shares = ec; });
    s.clock.run();
    asked(s).to_batch_of(2);
    CHECK(s.peers.heard() == "offer #1");
}

TEST_CASE("a property that would read as that line is refused")
{
    handoff_scene s;
    mutex_options o;
    o.properties["handoff"] = "10.0.0.2:7000";
    CHECK(s.acquire("/p", o)->ended == errc::invalid_option);
    o.properties["handoff"] = "by hand";
    CHECK_FALSE(s.acquire("/p", o)->ended);
}
