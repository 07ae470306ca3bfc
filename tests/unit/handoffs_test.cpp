// Locks handed over past the servers: what a client tells others of its nodes, and what it does with what they tell.
#include "fake_peers.hpp"
#include "node_scene.hpp"

#include <optional>
#include <string>
#include <vector>

using namespace zklock;
using namespace zklock::unit;
using queue::contender_kind;
using recipes::acquire_mode;

namespace {

std::string of_path(const std::string& node)
{
    return "/p/" + node;
}

std::string to_create(int secret, const char* mark = "lock-")
{
    const std::string whole = fake_peers::node(secret, 0, mark);
    return "create /p/" + whole.substr(0, whole.size() - queue::sequence_digits);
}

/// Of a path that has had so many children, all of which live, the last made by that transaction.
store::node_stat children_of(int count, std::int64_t czxid)
{
    store::node_stat stat;
    stat.num_children = stat.cversion = count;
    stat.pzxid = czxid;
    return stat;
}

/// A client that has a way past the servers, and a path /p.
struct handoff_scene : scene {
    fake_peers peers{servers};

    handoff_scene()
    {
        others = &peers;
        start();
        connect();
    }
    ~handoff_scene() { destroy(); } // before its peers
    /// Somebody holds #1, with number 0.
    std::shared_ptr<attempt> hold_first(const mutex_options& o = {})
    {
        const auto a = acquire("/p", o);
        asked(*this).to(to_create(1)).number(100, 0).to("watch /p").alone(1, 100);
        REQUIRE(a->ended == error_code());
        CHECK(peers.heard() == "offer #1");
        return a;
    }
    /// Somebody waits with #1 and number 2, behind #51 and #52 of others, who say that.
    std::shared_ptr<attempt> wait_behind(const std::string& data, const mutex_options& o = {})
    {
        const auto a = acquire("/p", o);
        asked(*this).to(to_create(1)).number(102, 2).to("watch /p").show(children_of(3, 102));
        asked(*this).to("children /p").list({fake_peers::node(51, 0), fake_peers::node(52, 1), fake_peers::node(1, 2)},
                                            children_of(3, 102));
        peers.heard();
        watched(1, 2, 5, "me");
        watched(52, 1, 9, data);
        watched(51, 0, 8, data);
        asked(*this).nothing_else();
        return a;
    }
    void watched(int secret, int sequence, std::int64_t owner, const std::string& data)
    {
        asked(*this).to("watch " + of_path(fake_peers::node(secret, sequence))).show(owner, data);
    }
    void certify(int secret)
    {
        peers.observer->on_certificate(fake_peers::secret_of(secret));
        clock.run();
    }
    void is_gone(int secret, int sequence)
    {
        servers.observer->on_node_event(store::event_kind::deleted, of_path(fake_peers::node(secret, sequence)));
        clock.run();
    }
    void reconnect()
    {
        connect(5, false);
    }
    void disconnect()
    {
        while (!servers.requests.empty())
            answer(outcome::unknown);
        servers.observer->on_disconnected();
        clock.run();
    }
};

const std::string there = "them\nhandoff=10.0.0.2:7000"; // NOLINT

} // namespace

TEST_SUITE("hand-offs past the servers")
{
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
        SUBCASE("an election") { request.hands_over = false; }
        SUBCASE("a line") { request.internal = true; }
        const auto a = s.locks->acquire(std::move(request));
        s.clock.run();
        CHECK(s.servers.requests.front().what == "create /p/" + prefix(1));
        CHECK(s.servers.requests.front().data == "me");
        CHECK(s.peers.heard() == "");
    }

    TEST_CASE("a release is told, behind the delete")
    {
        handoff_scene s;
        const auto a = s.hold_first();
        s.release(*a);
        CHECK(s.peers.heard() == "publish #1");
        CHECK(s.peers.sent_before == "remove " + a->given.node);
        asked(s).only("remove " + a->given.node).ends(outcome::ok);
        CHECK(a->released == error_code());
        CHECK(s.peers.heard() == "");
    }

    TEST_CASE("a wait that is given up is told, too")
    {
        handoff_scene s;
        const auto a = s.wait_behind("them");
        CHECK(a->handle->withdraw());
        s.clock.run();
        CHECK(s.peers.heard() == "publish #1");
    }

    TEST_CASE("what is lost is not told")
    {
        handoff_scene s;
        const auto a = s.hold_first();
        SUBCASE("the lease ends")
        {
            s.clock.pass(20s);
            CHECK(a->losses == 1);
            s.answer_syncs();
            asked(s).to("remove " + a->given.node);
            CHECK(s.peers.heard() == "withdraw #1");
        }
        SUBCASE("the session ends")
        {
            s.disconnect();
            s.servers.observer->on_expired();
            s.clock.run();
            CHECK(a->losses == 1);
            CHECK(s.peers.heard() == "withdraw #1");
        }
        SUBCASE("others delete the node")
        {
            s.is_gone(1, 0);
            CHECK(a->losses == 1);
            CHECK(s.peers.heard() == "withdraw #1");
        }
        SUBCASE("the client is closed")
        {
            s.session->close([] {});
            s.clock.run();
            CHECK(s.peers.heard() == "");
        }
    }

    TEST_CASE("a create that was given up is not told")
    {
        handoff_scene s;
        const auto a = s.acquire("/p");
        CHECK(s.peers.heard() == "offer #1");
        CHECK(a->handle->withdraw());
        s.clock.run();
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
        s.disconnect();
        s.release(*a);
        CHECK(s.peers.heard() == "");
        s.reconnect();
        CHECK(s.peers.heard() == "publish #1");
        CHECK(s.servers.asks("remove " + a->given.node));
    }

    TEST_CASE("where a write of a user was there while it was held, the servers tell it alone")
    {
        handoff_scene s;
        told<node_stat> set;
        SUBCASE("under way when it was granted, and when it was released")
        {
            s.operations->set("/d", "x", any_version, set.teller());
            const auto a = s.hold_first();
            s.release(*a);
            CHECK(s.peers.heard() == "withdraw #1");
        }
        SUBCASE("under way when it was granted")
        {
            s.operations->set("/d", "x", any_version, set.teller());
            const auto a = s.hold_first();
            asked(s).to("set /d").stat({});
            s.release(*a);
            CHECK(s.peers.heard() == "withdraw #1");
        }
        SUBCASE("done meanwhile")
        {
            const auto a = s.hold_first();
            s.operations->set("/d", "x", any_version, set.teller());
            asked(s).to("set /d").stat({});
            CHECK(set.ended == error_code());
            s.release(*a);
            CHECK(s.peers.heard() == "withdraw #1");
        }
        SUBCASE("refused meanwhile")
        {
            const auto a = s.hold_first();
            s.operations->set("/d", "x", any_version, set.teller());
            asked(s).to("set /d").ends(outcome::bad_version);
            s.release(*a);
            CHECK(s.peers.heard() == "withdraw #1");
        }
        SUBCASE("withdrawn, and under way")
        {
            const auto a = s.hold_first();
            const auto handle = s.operations->set("/d", "x", any_version, set.teller());
            handle->withdraw();
            s.release(*a);
            CHECK(s.peers.heard() == "withdraw #1");
        }
        SUBCASE("a transaction")
        {
            told<commit_result> done;
            const auto a = s.hold_first();
            transaction t;
            t.set("/d", "x");
            s.operations->commit(std::move(t), done.teller());
            s.release(*a);
            CHECK(s.peers.heard() == "withdraw #1");
        }
        SUBCASE("a request to let go")
        {
            told<std::size_t> revoked;
            const auto a = s.hold_first();
            s.queues->revoke("/other", "/other/_c_lock-0000000001", revoked.teller());
            s.release(*a);
            CHECK(s.peers.heard() == "withdraw #1");
        }
        SUBCASE("one that was done before is no matter, nor is a read")
        {
            told<node_content> read;
            s.operations->set("/d", "x", any_version, set.teller());
            asked(s).to("set /d").stat({});
            const auto a = s.hold_first();
            s.operations->get("/d", read.teller());
            s.release(*a);
            CHECK(s.peers.heard() == "publish #1");
        }
    }

    TEST_CASE("a write whose outcome is unknown counts until one was done over a later connection")
    {
        handoff_scene s;
        told<node_stat> set;
        s.operations->set("/d", "x", any_version, set.teller());
        s.disconnect();
        CHECK(set.ended_with(errc::outcome_unknown));
        s.reconnect();
        const auto a = s.hold_first(); // by a create that was done over it
        s.release(*a);
        CHECK(s.peers.heard() == "publish #1");
    }

    TEST_CASE("a write whose answer was lost while the lock was held")
    {
        handoff_scene s;
        told<node_stat> set;
        const auto a = s.hold_first();
        s.operations->set("/d", "x", any_version, set.teller());
        s.disconnect();
        s.reconnect();
        s.release(*a);
        CHECK(s.peers.heard() == "withdraw #1");
    }

    TEST_CASE("who waits asks where the data say, of the nodes it watches")
    {
        handoff_scene s;
        const auto a = s.wait_behind(there);
        CHECK(s.peers.heard() == "subscribe #52 at 10.0.0.2:7000, subscribe #51 at 10.0.0.2:7000");
        s.is_gone(51, 0);
        CHECK(s.peers.heard() == "unsubscribe #51");
        CHECK(a->handle->withdraw());
        s.clock.run();
        CHECK(s.peers.heard() == "unsubscribe #52, publish #1");
    }

    TEST_CASE("it asks nobody of whom the data say nothing that it understands, nor itself")
    {
        handoff_scene s;
        std::string data;
        SUBCASE("") { data = "them"; }
        SUBCASE("") { data = "them\nhandoff=nonsense"; }
        SUBCASE("") { data = "them\nhandoff=example.com:7000"; }
        SUBCASE("") { data = "them\nhandoff=10.0.0.1:0"; }
        SUBCASE("") { data = "them\nhandoff=10.0.0.1:70000"; }
        SUBCASE("") { data = "handoff=10.0.0.1:7000"; }
        SUBCASE("") { data = "__REVOKE__"; }
        const auto a = s.wait_behind(data);
        CHECK(s.peers.heard() == "");
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

    TEST_CASE("what came before the node was known, or for one that nobody was asked about, counts as well")
    {
        handoff_scene s;
        s.certify(52);
        SUBCASE("asked about")
        {
            const auto a = s.wait_behind(there);
            CHECK(s.peers.heard() == "subscribe #51 at 10.0.0.2:7000");
            s.certify(51);
            CHECK(a->ended == error_code());
        }
        SUBCASE("only the nearer one has an address")
        {
            const auto a = s.acquire("/p");
            asked(s).to(to_create(1)).number(102, 2).to("watch /p").show(children_of(3, 102));
            asked(s).to("children /p").list(
                {fake_peers::node(53, 0), fake_peers::node(51, 1), fake_peers::node(1, 2)}, children_of(3, 102));
            s.watched(1, 2, 5, "me");
            s.watched(51, 1, 9, there);
            s.watched(53, 0, 8, "them");
            s.certify(51);
            CHECK_FALSE(a->ended);
            s.certify(53); // sent along
            CHECK(a->ended == error_code());
        }
    }

    TEST_CASE("who lets go sends along what may still be listed before it")
    {
        handoff_scene s;
        const auto a = s.wait_behind(there);
        s.certify(52);
        s.certify(51);
        CHECK(a->ended == error_code());
        s.peers.heard();
        SUBCASE("both")
        {
            s.release(*a);
            CHECK(s.peers.heard() == "publish #1 and #52 and #51");
        }
        SUBCASE("one is gone")
        {
            s.is_gone(52, 1);
            s.release(*a);
            CHECK(s.peers.heard() == "publish #1 and #51");
        }
    }

    TEST_CASE("behind such a grant a sync goes before the next read for a user")
    {
        handoff_scene s;
        told<node_content> read, another;
        const auto a = s.wait_behind(there);
        s.operations->get("/d", read.teller());
        s.certify(52);
        s.certify(51);
        CHECK(a->ended == error_code());
        asked(s).only("get /d").show(9, "before");
        CHECK(read.value.data == "before"); // it was asked before
        SUBCASE("")
        {
            s.operations->get("/d", another.teller());
            asked(s).all_of({"sync /", "get /d"});
            SUBCASE("it goes well")
            {
                asked(s).to("sync /").ends(outcome::ok).to("get /d").show(9, "after");
                CHECK(another.value.data == "after");
                told<node_content> more;
                s.operations->get("/d", more.teller());
                asked(s).only("get /d");
            }
            SUBCASE("it is refused")
            {
                asked(s).to("sync /").ends(outcome::no_auth).to("get /d").show(9, "old");
                CHECK(another.ended_with(errc::access_denied));
            }
            SUBCASE("the nodes that were passed over are gone meanwhile")
            {
                s.is_gone(51, 0);
                s.is_gone(52, 1);
                asked(s).to("sync /").ends(outcome::no_auth).to("get /d").show(9, "after");
                CHECK(another.value.data == "after");
            }
        }
        SUBCASE("unless those nodes have been seen gone")
        {
            s.is_gone(52, 1);
            s.is_gone(51, 0);
            s.operations->get("/d", another.teller());
            asked(s).only("get /d");
        }
        SUBCASE("a look is such a read")
        {
            s.release(*a);
            asked(s).to("remove " + a->given.node).ends(outcome::ok);
            const auto b = s.acquire("/p", {}, acquire_mode::look_once);
            asked(s).all_of({"sync /", "children /p"});
            asked(s).to("sync /").ends(outcome::ok).to("children /p").list({fake_peers::node(51, 0)}, {});
            CHECK_FALSE(b->ended); // 51 was let go
        }
    }

    TEST_CASE("a node that lingers does so until somebody waits for it")
    {
        handoff_scene s;
        mutex_options lingering;
        lingering.linger = 1s;
        const auto a = s.hold_first(lingering);
        SUBCASE("afterwards")
        {
            s.release(*a);
            asked(s).to("watch children /p").list({fake_peers::node(1, 0)}, children_of(1, 100)).nothing_else();
            CHECK(s.peers.heard() == "");
            store::commitment c = s.peers.commitment_to(fake_peers::secret_of(1));
            s.peers.observer->on_awaited(c);
            s.clock.run();
        }
        SUBCASE("before")
        {
            s.peers.waited_for.insert(1);
            s.release(*a);
        }
        CHECK(s.peers.heard() == "publish #1");
        asked(s).only("remove " + a->given.node);
    }

    TEST_CASE("a node that is passed on takes its secret along, and is told once, by the last")
    {
        handoff_scene s;
        mutex_options cohort;
        cohort.cohort = 2;
        const auto a = s.hold_first(cohort);
        const auto b = s.acquire("/p", cohort);
        s.release(*a);
        REQUIRE(b->ended == error_code());
        CHECK(s.peers.heard() == "");
        SUBCASE("without a write")
        {
            s.release(*b);
            CHECK(s.peers.heard() == "publish #1");
        }
        SUBCASE("with one")
        {
            told<node_stat> set;
            s.operations->set("/d", "x", any_version, set.teller());
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

    TEST_CASE("a user is not shown the line")
    {
        handoff_scene s;
        told<std::vector<contender>> listed;
        s.queues->contenders("/p", listed.teller());
        asked(s).to("children /p").list({fake_peers::node(51, 0)}, {});
        asked(s).to("get " + of_path(fake_peers::node(51, 0))).show(9, "them\nzone=a\nhandoff=10.0.0.2:7000");
        REQUIRE(listed.value.size() == 1);
        CHECK(listed.value[0].identifier == "them");
        CHECK(listed.value[0].properties == std::map<std::string, std::string>{{"zone", "a"}});
    }

    TEST_CASE("a property that would read as that line is refused")
    {
        handoff_scene s;
        mutex_options o;
        o.properties["handoff"] = "10.0.0.2:7000";
        CHECK(s.acquire("/p", o)->ended == make_error_code(errc::invalid_option));
        o.properties["handoff"] = "by hand";
        CHECK_FALSE(s.acquire("/p", o)->ended);
    }
}
