// sanitizers: none
// program: mutexes
// Others on the path of a mutex: children that are no contenders, contenders of other programs, overflowed numbers.
#include "integration/lock_scene.hpp"

using namespace zklock::test;

TEST_CASE("contenders of other programs are served by number, whatever their names begin with")
{
    const std::string path = "/foreign/mixed";
    play<2>({.clean = {path}}, [&](admin_client& admin, client& zk, client& other) -> awaitable<void> {
        admin.create_all(path);
        const auto foreign = [&](const std::string& prefix) {
            return admin.create(path + "/" + prefix, "somebody", create_mode::ephemeral_sequential);
        };
        const auto as_kazoo = with(&mutex_options::names, naming::kazoo);

        std::vector<std::string> nodes; // in the order of their numbers, which is not that of their names
        nodes.push_back(foreign("_c_ffffffff-ffff-4fff-bfff-ffffffffffff-lock-"));
        auto second = co_await queued(admin, path, 2, begin_acquire(mutex(zk, path)));
        nodes.push_back(queue_of(admin, path).back());
        nodes.push_back(foreign("00000000000000000000000000000000__lock__"));
        auto fourth = co_await queued(admin, path, 4, begin_acquire(mutex(other, path, as_kazoo)));
        nodes.push_back(queue_of(admin, path).back());
        CHECK(nodes.back().find("__lock__") == 32);
        nodes.push_back(foreign("lock-"));
        auto sixth = co_await queued(admin, path, 6, begin_acquire(mutex(zk, path)));
        nodes.push_back(queue_of(admin, path).back());
        nodes.push_back(foreign("x-72057594037927936-")); // ZooKeeper's WriteLock: the session in decimal digits
        auto eighth = co_await queued(admin, path, 8, begin_acquire(mutex(other, path, as_kazoo)));
        nodes.push_back(queue_of(admin, path).back());
        nodes.push_back(foreign("x-0100000000000000-")); // the recipe in C: in hexadecimal ones
        auto tenth = co_await queued(admin, path, 10, begin_acquire(mutex(zk, path)));
        nodes.push_back(queue_of(admin, path).back());

        const auto listed = must(co_await mutex(zk, path).contenders());
        REQUIRE(listed.size() == nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i)
            CHECK(listed[i].node.ends_with(nodes[i].substr(nodes[i].rfind('/') + 1)));
        CHECK(listed[0].identifier == "somebody");

        const auto first_watched = [&] { return watches_node(server().port(), zk.session_id(), nodes[0]); };
        co_await until("the second watches the first", first_watched);
        admin.remove(nodes[0]);
        guard held = co_await granted(second);
        CHECK_FALSE(fourth.ended());
        CHECK_FALSE(sixth.ended());
        co_await release(std::move(held));

        const auto third_watched = [&] { return watches_node(server().port(), other.session_id(), nodes[2]); };
        co_await until("the fourth watches the third", third_watched);
        CHECK_FALSE(fourth.ended());
        admin.remove(nodes[2]);
        held = co_await granted(fourth);
        CHECK_FALSE(sixth.ended());
        co_await release(std::move(held));

        const auto fifth_watched = [&] { return watches_node(server().port(), zk.session_id(), nodes[4]); };
        co_await until("the sixth watches the fifth", fifth_watched);
        CHECK_FALSE(sixth.ended());
        admin.remove(nodes[4]);
        held = co_await granted(sixth);
        CHECK_FALSE(eighth.ended());
        co_await release(std::move(held));

        const auto seventh_watched = [&] { return watches_node(server().port(), other.session_id(), nodes[6]); };
        co_await until("the eighth watches the seventh", seventh_watched);
        CHECK_FALSE(eighth.ended());
        admin.remove(nodes[6]);
        held = co_await granted(eighth);
        CHECK_FALSE(tenth.ended());
        co_await release(std::move(held));

        const auto ninth_watched = [&] { return watches_node(server().port(), zk.session_id(), nodes[8]); };
        co_await until("the tenth watches the ninth", ninth_watched);
        CHECK_FALSE(tenth.ended());
        admin.remove(nodes[8]);
        co_await take_turn(tenth);
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
        const auto predecessor_watched = [&] { return watches_node(server().port(), zk.session_id(), second); };
        co_await until("the one with the largest of their numbers is watched", predecessor_watched);
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

        const auto second_watched = [&] { return watches_node(server().port(), other.session_id(), nodes[1]); };
        co_await until("the third watches the second", second_watched);
        admin.remove(nodes[1]);
        CHECK_FALSE(third.ended());
        admin.remove(nodes[0]);
        guard held = co_await granted(third);
        CHECK(held.node() == nodes[2]);

        // And they are no obstacle when they come later.
        co_await release(std::move(held));
        auto fifth = co_await queued(admin, path, 2, begin_acquire(mutex(other, path, marked)));
        const auto fourth_watched = [&] { return watches_node(server().port(), other.session_id(), nodes[3]); };
        co_await until("the fifth watches the fourth", fourth_watched);
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
        mutex_options kazoos;
        kazoos.names = naming::kazoo;
        kazoos.mark = "-stock-";
        mutex lock(zk, path, kazoos);
        guard held = must(co_await lock.acquire(5s));
        CHECK(held.node().find("-stock-0000000000") == path.size() + 1 + 32);
        auto waiting = co_await queued(admin, path, 2, begin_acquire(lock));
        co_await release(std::move(held));
        co_await take_turn(waiting);
        const auto wrong = with(&mutex_options::mark, "stock-1");
        CHECK(error_in(co_await mutex(zk, path + "/other", wrong).acquire(0s)) == errc::invalid_option);
    });
}
