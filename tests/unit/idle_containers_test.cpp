// Containers that a client has made, and deletes when nobody uses them any more.
#include "session_scene.hpp"

#include <memory>
#include <string>

using namespace zklock;
using namespace zklock::unit;

namespace {

struct container_scene : connected_scene {
    /// Acquires and releases the lock of a path that is not there, and is made by that transaction; or that others make
    /// at the same time (0).
    void use(const std::string& path, std::int64_t czxid = 50, mutex_options o = {})
    {
        const auto a = acquire(path, o);
        answer(outcome::no_node);
        answer(outcome::no_node); // nothing to watch either
        const char* const verb = o.parents == parent_kind::container ? "container " : "persistent ";
        REQUIRE(servers.pending() == verb + path);
        if (czxid != 0)
            stat(fresh(czxid));
        else
            answer(outcome::node_exists);
        number(++czxid_, 0);
        alone(1, czxid_);
        REQUIRE(a->ended == error_code());
        release(*a);
        answer(outcome::ok);
        REQUIRE(servers.pending() == "");
    }
    /// One that was made by that transaction, and has had a child since.
    static store::node_stat used(std::int64_t czxid = 50)
    {
        store::node_stat stat = fresh(czxid);
        stat.cversion = 2;
        stat.pzxid = czxid + 1;
        return stat;
    }
    void cut()
    {
        while (!servers.requests.empty())
            answer(outcome::unknown);
        servers.observer->on_disconnected();
        clock.run();
    }
    /// The delete of a path's node was done: that is told before the answer.
    void done(const std::string& path)
    {
        servers.observer->on_node_event(store::event_kind::deleted, path);
        answer(outcome::ok);
    }
    /// The container rests, is looked at, and may go.
    void begin_to_delete(const std::string& path)
    {
        come_to_rest();
        REQUIRE(servers.pending() == "exists " + path);
        stat(used());
        REQUIRE(servers.pending() == "remove " + path + " at version 0");
    }

private:
    std::int64_t czxid_ = 100;
};

} // namespace

TEST_SUITE("idle containers")
{
    TEST_CASE("a container that the client has made is deleted when its path has rested, and made again when used again")
    {
        container_scene s;
        s.use("/p");
        s.begin_to_delete("/p");
        s.done("/p");
        CHECK(s.servers.pending() == "");
        s.use("/p");
        s.begin_to_delete("/p");
    }

    TEST_CASE("it is looked at first, behind a sync; what cannot be known to be as it was left stays for now")
    {
        container_scene s;
        s.use("/p");
        s.clock.pass(4s);
        s.answer_syncs();
        while (s.servers.pending().find("exists") == std::string::npos)
            s.clock.pass(100ms);
        const std::string all = s.servers.pending();
        CHECK(all.substr(all.size() - 17) == "sync /, exists /p");
        while (s.servers.requests.size() > 1)
            s.answer(outcome::server_error);
        s.servers.take().stat(s.used());
        s.clock.run();
        CHECK(s.servers.pending() == "");
        s.come_to_rest();
        s.come_to_rest();
        CHECK(s.servers.pending() == "exists /p"); // it rests once more
    }

    TEST_CASE("others' containers, and persistent parents, are left alone")
    {
        container_scene s;
        SUBCASE("made by others at the same time") { s.use("/p", 0); }
        SUBCASE("persistent")
        {
            mutex_options persistent;
            persistent.parents = parent_kind::persistent;
            s.use("/p", 50, persistent);
        }
        s.come_to_rest();
        CHECK(s.servers.pending() == "unwatch /p");
    }

    TEST_CASE("what others have put in its place, or written into, stays, and is not looked at again")
    {
        container_scene s;
        s.use("/p");
        s.come_to_rest();
        store::node_stat found = s.used();
        SUBCASE("another node") { found = s.fresh(60); }
        SUBCASE("with data") { found.mzxid = 60, found.version = 1, found.data_length = 4; }
        SUBCASE("with other data") { found.mzxid = 60; }
        SUBCASE("with a child") { found.num_children = 1, found.cversion = 3; }
        s.stat(found);
        CHECK(s.servers.pending() == "unwatch /p");
        s.answer(outcome::ok);
        s.come_to_rest();
        CHECK(s.servers.pending() == "");
    }

    TEST_CASE("one that is gone already")
    {
        container_scene s;
        s.use("/p");
        s.come_to_rest();
        s.answer(outcome::no_node);
        CHECK(s.servers.pending() == "");
        s.use("/p");
    }

    TEST_CASE("one that others use at the last moment stays, and is not asked for again")
    {
        container_scene s;
        s.use("/p");
        s.begin_to_delete("/p");
        SUBCASE("") { s.answer(outcome::not_empty); }
        SUBCASE("or write into") { s.answer(outcome::bad_version); }
        CHECK(s.servers.pending() == "unwatch /p");
        s.answer(outcome::ok);
        s.come_to_rest();
        CHECK(s.servers.pending() == "");
    }

    TEST_CASE("made by others once, and then by the client: the last counts")
    {
        container_scene s;
        s.use("/p", 50);
        s.servers.observer->on_node_event(store::event_kind::deleted, "/p");
        s.clock.run();
        s.use("/p", 0);
        s.servers.observer->on_node_event(store::event_kind::deleted, "/p");
        s.clock.run();
        s.use("/p", 70);
        s.come_to_rest();
        s.stat(s.used(70));
        CHECK(s.servers.pending() == "remove /p at version 0");
    }

    TEST_CASE("a path in use keeps it")
    {
        container_scene s;
        s.use("/p");
        for (int n = 1; n <= 3; ++n) {
            s.clock.pass(4s);
            s.answer_syncs();
            const auto a = s.acquire("/p");
            CHECK(s.servers.pending() == "create /p/" + prefix(2 + n)); // and nothing else
            s.number(200 + n, n);
            CHECK(a->ended == error_code());
            s.release(*a);
            CHECK(s.servers.pending() == "remove /p/" + scene::node(2 + n, n));
            s.answer(outcome::ok);
        }
    }

    TEST_CASE("used while it is being looked at: it is not deleted")
    {
        container_scene s;
        s.use("/p");
        s.come_to_rest();
        REQUIRE(s.servers.pending() == "exists /p");
        const auto a = s.acquire("/p");
        s.stat(s.used());
        CHECK(s.servers.pending() == "create /p/" + prefix(3));
        s.number(300, 1);
        CHECK(a->ended == error_code());
        s.release(*a);
        s.answer(outcome::ok);
        s.come_to_rest();
        s.come_to_rest();
        CHECK(s.servers.pending() == "exists /p");
    }

    TEST_CASE("many are deleted together; where one of them is not empty, fewer")
    {
        container_scene s;
        for (const char* path : {"/a", "/b", "/c", "/d"})
            s.use(path);
        s.come_to_rest();
        REQUIRE(s.servers.pending() == "exists /a, exists /b, exists /c, exists /d");
        s.stat(s.used());
        s.stat(s.used());
        store::node_stat occupied = s.used();
        occupied.num_children = 1;
        s.stat(occupied);
        s.stat(s.used());
        REQUIRE(s.servers.pending() ==
                "unwatch /c, batch remove /a at version 0, remove /b at version 0, remove /d at version 0");
        s.answer(outcome::ok);
        s.servers.take().fail(1, outcome::not_empty);
        s.clock.run();
        CHECK(s.servers.pending() == "unwatch /b, sync /, exists /a, exists /d");
        s.answer(outcome::ok);
        s.stat(s.used());
        s.stat(s.used());
        CHECK(s.servers.pending() == "batch remove /a at version 0, remove /d at version 0");
        s.answer(outcome::ok);
        while (!s.servers.requests.empty()) { // no event was told
            CHECK(s.servers.requests.front().what.starts_with("unwatch /"));
            s.answer(outcome::no_watcher);
        }
    }

    TEST_CASE("one at a time is under way, and a refused transaction is divided")
    {
        container_scene s;
        for (int i = 0; i < 70; ++i)
            s.use("/p" + std::to_string(i));
        s.come_to_rest();
        const auto look_at = [&](std::size_t many) {
            s.answer_syncs();
            REQUIRE(s.servers.requests.size() == many);
            for (std::size_t i = 0; i < many; ++i)
                s.stat(s.used());
        };
        look_at(64);
        REQUIRE(s.servers.requests.size() == 1);
        CHECK(s.servers.requests.front().writes.size() == 64);
        s.servers.take().fail(5, outcome::not_empty);
        s.clock.run();
        s.answer(outcome::ok); // its watch
        look_at(16);
        CHECK(s.servers.requests.front().writes.size() == 16);
        s.answer(outcome::bad_arguments); // not the fault of one of them
        look_at(1);
        CHECK(s.servers.pending().starts_with("remove /p"));
    }

    TEST_CASE("used while the delete is on its way: the path is made again")
    {
        container_scene s;
        s.use("/p");
        s.begin_to_delete("/p");
        const auto a = s.acquire("/p");
        CHECK(s.servers.pending() == "remove /p at version 0, create /p/" + prefix(3));
        SUBCASE("and it was deleted")
        {
            s.done("/p");
            s.answer(outcome::no_node);
            CHECK(s.servers.pending() == "watch /p, watch /p, container /p"); // after the event, and after the answer
            s.answer(outcome::no_node);
            s.answer(outcome::no_node);
            s.answer(outcome::ok);
            s.number(300, 0);
            s.alone(1, 300);
        }
        SUBCASE("and it was not, for others were there")
        {
            s.answer(outcome::not_empty);
            s.number(300, 1);
        }
        CHECK(a->ended == error_code());
        s.release(*a);
        s.answer(outcome::ok);
        CHECK(s.servers.pending() == "");
    }

    TEST_CASE("used with other options while it rests, is looked at, or deleted: they hold from then on")
    {
        container_scene s;
        s.use("/p");
        mutex_options others;
        others.cohort = 2;
        const auto is_granted = [&](const scene::attempt& a) {
            REQUIRE_FALSE(a.ended);
            while (!s.servers.requests.empty() && !s.servers.requests.front().what.starts_with("create"))
                s.answer(outcome::ok);
            s.number(300, 0);
            while (!a.ended && !s.servers.requests.empty())
                s.alone(1, 300);
            CHECK(a.ended == error_code());
        };
        SUBCASE("it rests")
        {
            s.clock.pass(1s);
            is_granted(*s.acquire("/p", others));
        }
        SUBCASE("looked at")
        {
            s.come_to_rest();
            REQUIRE(s.servers.pending() == "exists /p");
            const auto a = s.acquire("/p", others);
            s.stat(s.used());
            CHECK(s.servers.pending().find("remove") == std::string::npos);
            is_granted(*a);
        }
        SUBCASE("deleted")
        {
            s.begin_to_delete("/p");
            const auto a = s.acquire("/p", others);
            CHECK(s.servers.pending() == "remove /p at version 0, create /p/" + prefix(3) + ", watch /p");
            s.done("/p");
            s.answer(outcome::no_node);
            while (s.servers.requests.front().what == "watch /p")
                s.answer(outcome::no_node);
            REQUIRE(s.servers.pending() == "container /p");
            s.stat(s.fresh(80));
            s.number(300, 0);
            s.alone(1, 300);
            CHECK(a->ended == error_code());
            s.release(*a);
            s.answer(outcome::ok);
            s.come_to_rest();
            s.stat(s.used(80));
            CHECK(s.servers.pending() == "remove /p at version 0");
        }
        SUBCASE("its watch is taken back")
        {
            s.come_to_rest();
            s.stat(s.fresh(60)); // another's
            REQUIRE(s.servers.pending() == "unwatch /p");
            is_granted(*s.acquire("/p", others));
        }
    }

    TEST_CASE("a lost answer to the delete: it is looked for once more in the next epoch")
    {
        container_scene s;
        s.use("/p");
        s.begin_to_delete("/p");
        s.cut();
        s.connect(5, false);
        s.come_to_rest();
        s.come_to_rest();
        CHECK(s.servers.pending() == "exists /p");
        s.answer(outcome::no_node);
        CHECK(s.servers.pending() == "");
    }

    TEST_CASE("an epoch that ends with no answer at all: likewise")
    {
        container_scene s;
        s.use("/p");
        s.use("/q");
        s.come_to_rest();
        REQUIRE(s.servers.pending() == "exists /p, exists /q");
        const auto late = s.servers.take(), later = s.servers.take();
        s.servers.observer->on_disconnected();
        s.clock.run();
        late.stat(s.used());
        later.stat(s.used());
        s.clock.run();
        CHECK(s.servers.pending() == "");
        s.connect(5, false);
        s.come_to_rest();
        s.come_to_rest();
        CHECK(s.servers.pending() == "exists /q, exists /p");
    }

    TEST_CASE("no memory for one of the requests: all is done in the next epoch")
    {
        for (const unsigned request : {1u, 2u, 3u, 4u}) { // the sync, two looks, the delete
            container_scene s;
            s.use("/p");
            s.use("/q");
            s.clock.pass(4900ms);
            s.answer_syncs();
            s.servers.fails_after = request;
            const auto until_it_fails = [&] {
                while (s.servers.fails_after != 0) {
                    s.clock.pass(100ms);
                    while (!s.servers.requests.empty())
                        if (const auto r = s.servers.take(); r.what.starts_with("exists"))
                            r.stat(s.used());
                        else
                            r.answer(outcome::ok);
                }
            };
            try {
                until_it_fails();
            } catch (const std::bad_alloc&) { // out of what the store has called
                s.servers.observer->on_exception();
            }
            CHECK(s.servers.given_up);
            s.cut();
            s.connect(5, false);
            s.come_to_rest();
            s.come_to_rest();
            CHECK(s.servers.pending().find("exists /p") != std::string::npos);
            CHECK(s.servers.pending().find("exists /q") != std::string::npos);
        }
    }

    TEST_CASE("one whose answer was lost counts as made by the client if nobody has used it")
    {
        container_scene s;
        const auto a = s.acquire("/up/p");
        s.answer(outcome::no_node);
        s.answer(outcome::no_node);
        s.answer(outcome::no_node);
        REQUIRE(s.servers.pending() == "container /up");
        CHECK(a->handle->withdraw());
        s.cut();
        s.connect(5, false);
        s.come_to_rest();
        s.come_to_rest();
        REQUIRE(s.servers.pending() == "exists /up");
        store::node_stat found = s.fresh(60);
        SUBCASE("")
        {
            s.stat(found);
            CHECK(s.servers.pending() == "remove /up at version 0");
        }
        SUBCASE("used: if it is a container, the servers clear it away")
        {
            s.stat(s.used(60));
            CHECK(s.servers.pending() == "");
        }
        SUBCASE("with data")
        {
            found.data_length = 1;
            s.stat(found);
            CHECK(s.servers.pending() == "");
        }
    }

    TEST_CASE("one that was made for an acquire that gave up before its node could be created is deleted")
    {
        container_scene s;
        const auto a = s.acquire("/p");
        s.answer(outcome::no_node);
        s.answer(outcome::no_node);
        const auto b = s.acquire("/q"), c = s.acquire("/r");
        s.answer(outcome::ok); // two writes are under way
        REQUIRE(s.servers.pending().find("create /p") == std::string::npos);
        CHECK(a->handle->withdraw());
        s.clock.run();
        s.come_to_rest();
        s.come_to_rest();
        CHECK(s.servers.pending().find("exists /p") != std::string::npos);
    }
}
