// Containers that a client has made, and deletes when nobody uses them any more.
#include "session_scene.hpp"

#include <memory>
#include <string>
#include <vector>

using namespace zklock;
using namespace zklock::unit;

namespace {

struct container_scene : connected_scene {
    /// Acquires and releases the lock of a path that is not there, and is made; or that others make at the same time.
    void use(const std::string& path, outcome of_the_container = outcome::ok, mutex_options o = {})
    {
        const auto a = acquire(path, o);
        answer(outcome::no_node);
        answer(outcome::no_node); // nothing to watch either
        const char* const verb = o.parents == parent_kind::container ? "container " : "persistent ";
        REQUIRE(servers.pending() == verb + path);
        answer(of_the_container);
        number(++czxid_, 0);
        alone(1, czxid_);
        REQUIRE(a->ended == error_code());
        release(*a);
        answer(outcome::ok);
        REQUIRE(servers.pending() == "");
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
        s.come_to_rest();
        CHECK(s.servers.pending() == "remove /p");
        s.done("/p");
        CHECK(s.servers.pending() == "");
        s.use("/p");
        s.come_to_rest();
        CHECK(s.servers.pending() == "remove /p");
    }

    TEST_CASE("others' containers, and persistent parents, are left alone")
    {
        container_scene s;
        SUBCASE("made by others at the same time") { s.use("/p", outcome::node_exists); }
        SUBCASE("persistent")
        {
            mutex_options persistent;
            persistent.parents = parent_kind::persistent;
            s.use("/p", outcome::ok, persistent);
        }
        s.come_to_rest();
        CHECK(s.servers.pending() == "unwatch /p");
    }

    TEST_CASE("one that others use stays, and is not asked for again")
    {
        container_scene s;
        s.use("/p");
        s.come_to_rest();
        s.answer(outcome::not_empty);
        CHECK(s.servers.pending() == "unwatch /p");
        s.answer(outcome::ok);
        s.come_to_rest();
        CHECK(s.servers.pending() == "");
    }

    TEST_CASE("a path in use keeps it")
    {
        container_scene s;
        s.use("/p");
        for (int n = 1; n <= 3; ++n) {
            s.clock.pass(4s);
            while (!s.servers.requests.empty())
                s.answer(outcome::ok); // heartbeats
            const auto a = s.acquire("/p");
            CHECK(s.servers.pending() == "create /p/" + prefix(2 + n)); // and nothing else
            s.number(200 + n, n);
            CHECK(a->ended == error_code());
            s.release(*a);
            CHECK(s.servers.pending() == "remove /p/" + scene::node(2 + n, n));
            s.answer(outcome::ok);
        }
    }

    TEST_CASE("many are deleted together; where one of them is not empty, fewer")
    {
        container_scene s;
        for (const char* path : {"/a", "/b", "/c"})
            s.use(path);
        s.come_to_rest();
        REQUIRE(s.servers.pending() == "batch remove /a, remove /b, remove /c");
        s.servers.take().fail(1, outcome::not_empty);
        s.clock.run();
        CHECK(s.servers.pending() == "unwatch /b, batch remove /a, remove /c");
        s.answer(outcome::ok);
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
        REQUIRE(s.servers.requests.size() == 1);
        CHECK(s.servers.requests.front().writes.size() == 64);
        s.servers.take().fail(5, outcome::not_empty);
        s.clock.run();
        REQUIRE(s.servers.requests.size() == 2); // its watch, and the next
        s.answer(outcome::ok);
        CHECK(s.servers.requests.front().writes.size() == 16);
        s.answer(outcome::bad_arguments); // not the fault of one of them
        CHECK(s.servers.pending().starts_with("remove /p"));
    }

    TEST_CASE("used while the delete is on its way: the path is made again")
    {
        container_scene s;
        s.use("/p");
        s.come_to_rest();
        REQUIRE(s.servers.pending() == "remove /p");
        const auto a = s.acquire("/p");
        CHECK(s.servers.pending() == "remove /p, create /p/" + prefix(3));
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

    TEST_CASE("a lost answer to the delete: it is asked for once more in the next epoch")
    {
        container_scene s;
        s.use("/p");
        s.come_to_rest();
        s.cut();
        s.connect(5, false);
        s.come_to_rest();
        s.come_to_rest();
        CHECK(s.servers.pending() == "remove /p");
        s.answer(outcome::no_node);
        CHECK(s.servers.pending() == "");
    }

    TEST_CASE("one whose answer was lost counts as made by the client")
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
        CHECK(s.servers.pending() == "remove /up");
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
        CHECK(s.servers.pending().find("remove /p") != std::string::npos);
    }
}
