// sanitizers: none
// program: mutexes
// Others on the path of a mutex: children that are no contenders, contenders of other programs, overflowed numbers.
#include "integration/lock_scene.hpp"

using namespace zklock::test;

TEST_CASE("contenders of other programs are served by number, whatever their names begin with")
{
    const std::string path = "/foreign/mixed";
    const char* const names_of_others[] = {
        "_c_ffffffff-ffff-4fff-bfff-ffffffffffff-lock-",
        "00000000000000000000000000000000__lock__",
        "lock-",
        "x-72057594037927936-", // ZooKeeper's WriteLock: the session in decimal digits
        "x-0100000000000000-",  // the recipe in C: in hexadecimal ones
    };
    play<2>({.clean = {path}}, [&](admin_client& admin, client& zk, client& other) -> awaitable<void> {
        admin.create_all(path);
        // Behind each of another program stands one of ours: of either client in turn, the second with kazoo's names.
        mutex ours(zk, path), as_kazoo(other, path, with(&mutex_options::names, naming::kazoo));
        std::vector<std::string> nodes; // in the order of their numbers, which is not that of their names
        std::vector<pending<guard>> attempts;
        for (const std::string name : names_of_others) {
            nodes.push_back(admin.create(path + "/" + name, "somebody", create_mode::ephemeral_sequential));
            auto attempt = begin_acquire(attempts.size() % 2 == 0 ? ours : as_kazoo);
            attempts.push_back(co_await queued(admin, path, nodes.size() + 1, attempt));
            nodes.push_back(queue_of(admin, path).back());
        }
        CHECK(nodes[3].find("__lock__") == 32);

        const auto listed = must(co_await ours.contenders());
        REQUIRE(listed.size() == nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i)
            CHECK(listed[i].node.ends_with(nodes[i].substr(nodes[i].rfind('/') + 1)));
        CHECK(listed[0].identifier == "somebody");

        for (std::size_t i = 0; i < attempts.size(); ++i) {
            CAPTURE(i);
            const std::string& predecessor = nodes[2 * i];
            co_await until_watched(i % 2 == 0 ? zk : other, predecessor);
            CHECK_FALSE(attempts[i].ended());
            admin.remove(predecessor);
            guard held = co_await granted(attempts[i]);
            for (std::size_t behind = i + 1; behind < attempts.size(); ++behind)
                CHECK_FALSE(attempts[behind].ended());
            co_await release(held);
        }
    });
}

TEST_CASE("contenders whose numbers have overflowed: negative ones come first, the smallest before the next")
{
    const std::string path = "/foreign/overflowed";
    play<1>({.clean = {path}}, [&](admin_client& admin, client& zk) -> awaitable<void> {
        admin.create_all(path);
        // As the servers write them: behind the sign, and in the wrong order as text.
        const std::string first = path + "/_c_00000000-0000-4000-8000-000000000000-lock--2147483640";
        const std::string second = path + "/_c_00000000-0000-4000-8000-000000000000-lock--2147483639";
        admin.create(second, "the second", create_mode::ephemeral);
        admin.create(first, "the first", create_mode::ephemeral);

        mutex lock(zk, path);
        auto listed = must(co_await lock.contenders());
        REQUIRE(listed.size() == 2);
        CHECK(listed[0].sequence == -2147483640);
        CHECK(listed[0].node == first);
        CHECK(listed[0].identifier == "the first");
        CHECK(listed[1].sequence == -2147483639);
        CHECK(listed[1].node == second);
        CHECK(error_in(co_await lock.try_acquire()) == errc::busy);
        CHECK(error_in(co_await lock.acquire(0s)) == errc::timed_out);

        auto waiting = begin_acquire(lock);
        co_await until_watched(zk, second); // the one with the largest of their numbers
        listed = must(co_await lock.contenders());
        REQUIRE(listed.size() == 3);
        CHECK(listed[1].node == second);
        CHECK(listed[2].sequence >= 0);
        CHECK(listed[2].ours);
        admin.remove(first);
        CHECK(error_in(co_await lock.try_acquire()) == errc::busy);
        CHECK_FALSE(waiting.ended());
        admin.remove(second);
        guard held = co_await granted(waiting);
        CHECK(held.node() == listed[2].node);
        co_await release(std::move(held));
    });
}

TEST_CASE("names that a mutex is told to heed: bare numbers and another program's mark, served by number")
{
    const std::string path = "/foreign/heeded";
    play<2>({.clean = {path}}, [&](admin_client& admin, client& zk, client& other) -> awaitable<void> {
        admin.create_all(path);
        const auto foreign = [&](const std::string& mark) {
            return admin.create(path + "/" + mark, "somebody", create_mode::ephemeral_sequential);
        };
        const auto heeding = with(&mutex_options::also_heeds, {"", "-order-"});
        mutex_options marked = heeding;
        marked.mark = "-stock-";
        marked.also_heeds.push_back("-lock-"); // which does no harm
        mutex lock(zk, path, heeding);

        std::vector<std::string> nodes; // in the order of their numbers
        nodes.push_back(foreign(""));
        CHECK(error_in(co_await lock.try_acquire()) == errc::busy);
        CHECK(error_in(co_await lock.acquire(0s)) == errc::timed_out);
        nodes.push_back(foreign("zz-order-"));
        auto third = co_await queued(admin, path, 3, begin_acquire(mutex(other, path, marked)));
        nodes.push_back(path + "/" + queue_of(admin, path).back());
        CHECK(nodes.back().find("-stock-0000000002") != std::string::npos);
        nodes.push_back(foreign(""));

        const auto listed = must(co_await mutex(other, path, marked).contenders());
        REQUIRE(listed.size() == nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            CHECK(listed[i].node == nodes[i]);
            CHECK(listed[i].sequence == static_cast<std::int32_t>(i));
        }
        CHECK(must(co_await mutex(zk, path).contenders()).empty()); // who is not told takes them for something else

        CHECK(must(co_await mutex(other, path, marked).revoke_holders()) == 1);
        CHECK(admin.get(nodes[0]) == "__REVOKE__");
        CHECK(error_in(co_await mutex(other, path, {}).acquire(0s)) == errc::invalid_option); // they have to agree

        co_await until_watched(other, nodes[1]);
        admin.remove(nodes[1]);
        CHECK_FALSE(third.ended());
        admin.remove(nodes[0]);
        guard held = co_await granted(third);
        CHECK(held.node() == nodes[2]);

        // And they are no obstacle when they come later.
        co_await release(std::move(held));
        auto fifth = co_await queued(admin, path, 2, begin_acquire(mutex(other, path, marked)));
        co_await until_watched(other, nodes[3]);
        const std::string last = foreign("");
        admin.remove(nodes[3]);
        co_await take_turn(fifth);
        admin.remove(last);
    });
}

TEST_CASE("a mark of one's own, with kazoo's names: its node has it, and the next in the queue waits for it")
{
    const std::string path = "/foreign/marked";
    play<1>({.clean = {path}}, [&](admin_client& admin, client& zk) -> awaitable<void> {
        mutex lock(zk, path, with(&mutex_options::names, naming::kazoo, &mutex_options::mark, "-stock-"));
        guard held = must(co_await lock.acquire(5s));
        CHECK(held.node().find("-stock-0000000000") == path.size() + 1 + 32);
        auto waiting = co_await queued(admin, path, 2, begin_acquire(lock));
        co_await release(std::move(held));
        co_await take_turn(waiting);
        const auto wrong = with(&mutex_options::mark, "stock-1");
        CHECK(error_in(co_await mutex(zk, path + "/other", wrong).acquire(0s)) == errc::invalid_option);
    });
}
