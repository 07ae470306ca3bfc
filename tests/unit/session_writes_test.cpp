// How the creates and deletes of all paths of a client travel together.
#include "session_scene.hpp"

#include <memory>
#include <string>
#include <vector>

using namespace zklock;
using namespace zklock::unit;

namespace {

/// Two creates are under way, those of /a and /b: what comes now gathers. The parents of both are being looked at.
struct busy_scene : scene {
    busy_scene()
    {
        start();
        connect();
        a = acquire("/a");
        CHECK(servers.pending() == "create /a/" + prefix(1) + ", watch /a"); // at once
        b = acquire("/b");
        CHECK(servers.requests.size() == 4);
        create_a = servers.take();
        servers.take().show_stat({});
        create_b = servers.take();
        servers.take().show_stat({});
        clock.run();
        CHECK(servers.pending() == "");
    }
    void answer_a()
    {
        create_a.number(100, 0);
        clock.run();
    }

    std::shared_ptr<attempt> a, b;
    fake_store::request create_a, create_b;
};

/// And two creates of /c and one of /d have gathered, and gone together.
struct batch_scene : busy_scene {
    batch_scene()
    {
        c1 = acquire("/c");
        c2 = acquire("/c");
        d = acquire("/d");
        CHECK(servers.pending() == "");
        answer_a();
        CHECK(servers.pending() ==
              "batch create /c/" + prefix(3) + ", create /d/" + prefix(4) + ", create /c/" + prefix(5) +
                  ", watch /c, watch /d"); // one of each path in turn
        batch = servers.take();
        servers.take().show_stat({}); // no child yet, by then
        servers.take().show_stat({});
        clock.run();
    }
    void done()
    {
        batch.done({"/c/" + node(3, 0), "/d/" + node(4, 0), "/c/" + node(5, 1)});
        clock.run();
    }

    std::shared_ptr<attempt> c1, c2, d;
    fake_store::request batch;
};

} // namespace

TEST_SUITE("session, gathered writes")
{
    TEST_CASE("nodes made together have their tokens from one look, by their places")
    {
        batch_scene s;
        s.done();
        CHECK_FALSE(s.c1->ended);
        CHECK(s.servers.pending() == "exists /c/" + scene::node(5, 1));
        s.czxid(200);
        CHECK(s.c1->ended == error_code());
        CHECK(s.c1->given.fencing_token == 200 * 4096);
        CHECK(s.d->ended == error_code());
        CHECK(s.d->given.fencing_token == 200 * 4096);
        CHECK_FALSE(s.c2->ended);
        s.release(*s.c1);
        CHECK(s.c2->ended == error_code());
        CHECK(s.c2->given.fencing_token == 200 * 4096 + 1);
    }

    TEST_CASE("where that look fails, each node is inspected")
    {
        batch_scene s;
        s.done();
        s.answer(outcome::no_node);
        const std::string c1 = "/c/" + scene::node(3, 0), d = "/d/" + scene::node(4, 0), c2 = "/c/" + scene::node(5, 1);
        CHECK(s.servers.pending() == "watch " + c1 + ", watch " + c2 + ", watch " + d);
        store::node_stat ours;
        ours.ephemeral_owner = 5;
        ours.czxid = 300;
        s.servers.take().show_stat(ours);
        s.answer(outcome::no_node); // the one that had been asked is gone, and is made again
        s.servers.take().show_stat(ours);
        s.clock.run();
        CHECK(s.c1->given.fencing_token == 300 * 4096);
        CHECK(s.d->given.fencing_token == 300 * 4096);
        CHECK_FALSE(s.c2->ended);
        CHECK(s.servers.pending() == "create /c/" + prefix(6));
    }

    TEST_CASE("where the transaction has no token to give, the nodes are deleted at once")
    {
        batch_scene s;
        s.done();
        s.create_b.number(101, 0);
        s.clock.run();
        CHECK(s.servers.pending() == "exists /c/" + scene::node(5, 1));
        s.czxid(std::int64_t{1} << 51);
        CHECK(s.c1->ended == make_error_code(errc::token_exhausted));
        CHECK(s.c2->ended == make_error_code(errc::token_exhausted));
        CHECK(s.d->ended == make_error_code(errc::token_exhausted));
        for (const std::string& n : {"/c/" + scene::node(3, 0), "/d/" + scene::node(4, 0), "/c/" + scene::node(5, 1)})
            CHECK(s.servers.pending().find("remove " + n) != std::string::npos);
    }

    TEST_CASE("a look at nodes made together tells nothing of one that was made again meanwhile")
    {
        busy_scene s;
        const auto c = s.acquire("/c");
        const auto d = s.acquire("/d");
        s.answer_a();
        const auto batch = s.servers.take();
        const auto watch_c = s.servers.take();
        const auto watch_d = s.servers.take();
        batch.done({"/c/" + scene::node(3, 0), "/d/" + scene::node(4, 0)});
        s.clock.run();
        REQUIRE(s.servers.pending() == "exists /d/" + scene::node(4, 0));
        const auto look = s.servers.take();
        store::node_stat empty; // others have deleted the node of /c
        empty.cversion = 2;
        watch_c.show_stat(empty);
        const auto e = s.acquire("/e");
        REQUIRE(s.servers.pending() == "batch create /c/" + prefix(5) + ", create /e/" + prefix(6) + ", watch /e");
        const auto second = s.servers.take();
        store::node_stat stat;
        stat.czxid = 200;
        look.stat(stat);
        second.done({"/c/" + scene::node(5, 1), "/e/" + scene::node(6, 0)});
        s.clock.run();
        CHECK_FALSE(c->ended);
        s.servers.take(); // watch /e
        s.czxid(300);
        CHECK(c->given.fencing_token == 300 * 4096);
    }

    TEST_CASE("a lost answer leaves all of them unknown")
    {
        batch_scene s;
        s.create_b.answer(outcome::unknown);
        s.batch.answer(outcome::unknown);
        s.clock.run();
        CHECK(s.servers.pending() == "");
        s.servers.observer->on_disconnected();
        s.connect(5, false);
        const std::string pending = s.servers.pending();
        CHECK(pending.starts_with("sync /, "));
        for (const char* path : {"/b", "/c", "/d"})
            CHECK(pending.find(std::string("children ") + path) != pending.npos);
        CHECK(pending.find("create") == pending.npos);
    }

    TEST_CASE("when one is refused it has its answer, and the others go alone")
    {
        batch_scene s;
        SUBCASE("its path is missing: other creates there are not tried before it is made")
        {
            s.batch.fail(0, outcome::no_node);
            s.clock.run();
            CHECK(s.servers.pending() == "container /c, create /d/" + prefix(4));
            s.answer(outcome::ok);
            s.number(210, 0);
            CHECK(s.d->given.fencing_token == 210 * 4096);
            CHECK_FALSE(s.c1->ended);
        }
        SUBCASE("it is forbidden")
        {
            s.batch.fail(1, outcome::no_auth);
            s.clock.run();
            CHECK(s.d->ended == make_error_code(errc::access_denied));
            CHECK(s.servers.pending() == "create /c/" + prefix(3) + ", create /c/" + prefix(5));
            s.number(210, 0);
            s.number(211, 1);
            CHECK(s.c1->given.fencing_token == 210 * 4096);
            s.release(*s.c1);
            CHECK(s.c2->given.fencing_token == 211 * 4096); // a transaction of its own
        }
        SUBCASE("nobody may create anything on its path: nor is the next one there tried")
        {
            outcome why{};
            SUBCASE("") { why = outcome::no_auth; }
            SUBCASE("") { why = outcome::invalid_acl; }
            SUBCASE("") { why = outcome::no_child_allowed; }
            s.batch.fail(0, why);
            s.clock.run();
            CHECK(s.c1->ended);
            CHECK(s.c2->ended == s.c1->ended);
            CHECK(s.servers.pending() == "create /d/" + prefix(4));
        }
        SUBCASE("it is not known which: all go alone")
        {
            s.batch.answer(outcome::bad_arguments);
            s.clock.run();
            CHECK(s.servers.pending() ==
                  "create /c/" + prefix(3) + ", create /d/" + prefix(4) + ", create /c/" + prefix(5));
        }
    }

    TEST_CASE("a delete that others may wait for does not wait, and takes along what has gathered")
    {
        connected_scene s;
        const auto held = s.hold("/h", 0);
        const auto a = s.acquire("/a");
        const auto b = s.acquire("/b");
        const auto c = s.acquire("/c");
        s.servers.requests.clear();
        s.release(*held);
        CHECK(s.servers.pending() ==
              "batch remove /h/" + scene::node(1, 0) + ", create /c/" + prefix(4) + ", watch /c");

        SUBCASE("the node is gone already: that will do, and the create goes alone")
        {
            s.servers.take().fail(0, outcome::no_node);
            s.clock.run();
            CHECK(held->released == error_code());
            CHECK(s.servers.pending() == "watch /c, create /c/" + prefix(4));
        }
        SUBCASE("done")
        {
            s.servers.take().done({"/c/" + scene::node(4, 0)});
            s.clock.run();
            CHECK(held->released == error_code());
        }
    }

    TEST_CASE("a delete behind which one of ours is next gathers like a create")
    {
        connected_scene s;
        const auto first = s.hold("/h", 0);
        const auto second = s.acquire("/h");
        s.number(101, 1);
        const auto a = s.acquire("/a");
        const auto b = s.acquire("/b");
        s.servers.requests.clear();
        s.release(*first);
        CHECK(second->ended == error_code());
        CHECK(s.servers.pending() == "");
        s.release(*second); // the last of ours
        CHECK(s.servers.pending() == "batch remove /h/" + scene::node(2, 1) + ", remove /h/" + scene::node(1, 0));
    }

    TEST_CASE("no more than 64 go together")
    {
        busy_scene s;
        for (int i = 0; i < 100; ++i)
            s.acquire("/many/" + std::to_string(i));
        CHECK(s.servers.pending() == "");
        s.answer_a();
        REQUIRE_FALSE(s.servers.requests.empty());
        CHECK(s.servers.requests.front().writes.size() == 64);
        CHECK(s.servers.requests.size() == 1 + 64);
        s.servers.requests.clear();
        s.create_b.number(101, 0);
        s.clock.run();
        REQUIRE_FALSE(s.servers.requests.empty());
        CHECK(s.servers.requests.front().writes.size() == 36);
    }

    TEST_CASE("whoever is cancelled before its create was sent costs nothing")
    {
        busy_scene s;
        const auto c = s.acquire("/c");
        CHECK(c->handle->withdraw());
        s.clock.run();
        s.answer_a();
        CHECK(s.servers.pending() == "");
    }

    TEST_CASE("a container that was made for nobody in the end is deleted; what was there before stays")
    {
        connected_scene s;
        const auto a = s.acquire("/deep/down/a");
        s.answer(outcome::no_node);
        s.answer(outcome::no_node); // there is nothing to watch
        CHECK(s.servers.pending() == "container /deep/down/a");
        s.answer(outcome::no_node);
        s.answer(outcome::no_node);
        s.answer(outcome::node_exists); // somebody else has made /deep
        CHECK(s.servers.pending() == "container /deep/down");
        SUBCASE("withdrawn")
        {
            CHECK(a->handle->withdraw());
            s.stat(s.fresh(10));
            s.stat(s.fresh(11));
            s.come_to_rest();
            CHECK(s.servers.pending() == "exists /deep/down/a");
            s.stat(s.fresh(11));
            CHECK(s.servers.pending() == "remove /deep/down/a at version 0");
            s.answer(outcome::ok);
            CHECK(s.servers.pending() == "sync /, exists /deep/down");
            s.stat(s.fresh(10));
            CHECK(s.servers.pending() == "remove /deep/down at version 0");
            s.answer(outcome::not_empty);
            CHECK(s.servers.pending() == "");
        }
        SUBCASE("still wanted")
        {
            s.answer(outcome::ok);
            s.answer(outcome::ok);
            CHECK(s.servers.pending().find("remove") == std::string::npos);
            CHECK(s.servers.pending().starts_with("create /deep/down/a/"));
        }
    }

    TEST_CASE("for a create that nobody wants any more its path is not made")
    {
        connected_scene s;
        const auto a = s.acquire("/deep/a");
        CHECK(a->handle->withdraw());
        s.clock.run();
        s.answer(outcome::no_node);
        s.answer(outcome::no_node);
        CHECK(s.servers.pending() == "");
    }
}
