// sanitizers: address
// program: semaphores
// semaphore: never more permits than there are, all of an acquire or none, first come first served.
#include "integration/semaphore_scene.hpp"

#include <boost/asio/deferred.hpp>

using namespace zklock::test;

namespace {

std::string big_endian(int value)
{
    std::string data(4, '\0');
    data[3] = static_cast<char>(value);
    return data;
}

} // namespace

TEST_CASE("the maximum is held: one by one, in chunks, and released in any order")
{
    const std::string path = "/semaphore/chunks";
    const auto story = [&](admin_client& admin, remote_client& remote, remote_client& other) -> awaitable<void> {
        semaphore gate(remote.zk, path, 5), same(other.zk, path, 5);
        permits two = must(co_await gate.permits_of(2).acquire());
        CHECK(two);
        CHECK(two.count() == 2);
        CHECK(two.node().starts_with(path + "/leases/_c_"));
        CHECK(two.node().find("-lease-") != std::string::npos);
        CHECK(two.held_until() > lease_clock::now());
        permits one = must(co_await same.acquire(5s));
        co_await until_queued(admin, path + "/locks", 0); // it has left the line
        permits last = must(co_await gate.permits_of(2).try_acquire());
        co_await until_queued(admin, path + "/locks", 0);
        CHECK(two.fencing_token() < one.fencing_token());
        CHECK(one.fencing_token() < last.fencing_token());
        CHECK(admin.children(path + "/leases").size() == 5);
        CHECK(error_in(co_await same.try_acquire()) == errc::busy);
        CHECK(error_in(co_await same.acquire(0s)) == errc::timed_out);
        CHECK(must(co_await same.contenders()).empty());
        const auto holders = must(co_await same.holders());
        REQUIRE(holders.size() == 5);
        CHECK(std::count_if(holders.begin(), holders.end(), [](const contender& c) { return c.ours; }) == 1);
        CHECK(holders[0].node == two.node());
        CHECK(holders[2].node == one.node());

        // Whoever wants three waits until there are three, and nobody overtakes him.
        auto three = co_await queued(admin, path + "/leases", 8, begin(same, 3));
        auto behind = begin(gate, 1);
        co_await until("both are in the line", [&] { return admin.children(path + "/locks").size() == 2; });
        CHECK(error_in(co_await gate.try_acquire()) == errc::busy);
        must(co_await last.release(1));
        CHECK(last.count() == 1);
        must(co_await last.release(1)); // the node made last went first
        CHECK(last.count() == 0);
        CHECK_FALSE(last);
        CHECK_FALSE(three.ended());
        co_await release(std::move(two)); // lower ones than the one that stays
        permits held = co_await granted(three);
        CHECK(held.count() == 3);
        permits behind_held = co_await granted(behind);
        CHECK(behind_held.fencing_token() > held.fencing_token());
        CHECK(error_in(co_await gate.try_acquire()) == errc::busy);

        co_await release(held, one);
        behind_held = permits();                                                // in the background
        CHECK(error_in(co_await std::move(last).release()) == errc::not_owner); // there were none left
        co_await no_permit_left(server().port(), path);
    };
    play<2>({.sessions = {120s, 120s}, .clean = places_of(path)}, story);
}

TEST_CASE("a part is released, or split off to be held by itself")
{
    const std::string path = "/semaphore/parts";
    const auto story = [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        semaphore gate(remote.zk, path, 6);
        permits all = must(co_await gate.permits_of(6).acquire());
        const std::string node = all.node();
        CHECK(error_in(co_await all.release(0)) == errc::invalid_option);
        CHECK(error_in(co_await all.release(7)) == errc::invalid_option);
        CHECK(error_in(co_await all.split(7)) == errc::invalid_option);
        CHECK(all.count() == 6);
        must(co_await all.release(2));
        CHECK(all.count() == 4);
        CHECK(admin.children(path + "/leases").size() == 4);

        remote.link.forget();
        permits part = must(co_await all.split(3));
        CHECK(requests(remote.link) == 0);
        CHECK(part.count() == 3);
        CHECK(all.count() == 1);
        CHECK(part);
        CHECK(all);
        CHECK(all.node() == node);
        CHECK(part.node() != node);
        CHECK(part.fencing_token() == all.fencing_token());
        auto part_lost = begin_wait_lost(part);
        auto all_lost = begin_wait_lost(all);

        // Lost by itself: others delete a node of the part. It gives its other permits back.
        co_await until_watched(remote.zk, part.node());
        admin.remove(part.node());
        CHECK_FALSE(co_await part_lost.end());
        CHECK_FALSE(part);
        CHECK(all);
        CHECK(error_in(co_await part.release(1)) == errc::lost);
        CHECK(error_in(co_await part.split(1)) == errc::lost);
        CHECK(error_in(co_await std::move(part).release()) == errc::lost);
        const auto alone = [&] { return admin.children(path + "/leases").size() == 1; };
        co_await until("the rest of what was lost is given back", alone);
        CHECK_FALSE(all_lost.ended());
        permits taken = must(co_await all.split(1));
        CHECK(co_await all_lost.end() == asio::error::operation_aborted);
        CHECK_FALSE(all);
        CHECK(error_in(co_await std::move(all).release()) == errc::not_owner);
        CHECK(error_in(co_await all.release(1)) == errc::not_owner);
        CHECK(error_in(co_await all.split(1)) == errc::not_owner);
        CHECK(all.count() == 0);
        {
            auto never_started = taken.release(1, asio::deferred); // releases nothing
        }
        CHECK(taken.count() == 1);
        co_await release(std::move(taken));
        co_await no_permit_left(server().port(), path);
    };
    play<1>({.sessions = {120s}, .clean = places_of(path)}, story);
}

TEST_CASE("what cannot be is refused with a clear error")
{
    const std::string path = "/semaphore/refused";
    const auto story = [&](remote_client& remote) -> awaitable<void> {
        semaphore gate(remote.zk, path, 2);
        CHECK(error_in(co_await gate.permits_of(0).acquire()) == errc::invalid_option);
        CHECK(error_in(co_await gate.permits_of(3).acquire()) == errc::invalid_option);
        CHECK(error_in(co_await gate.permits_of(3).try_acquire(default_token())) == errc::invalid_option);
        CHECK(error_in(co_await semaphore(remote.zk, path, 0).acquire()) == errc::invalid_option);
        CHECK(error_in(co_await semaphore(remote.zk, "no/slash", 2).acquire()) == errc::invalid_path);
        semaphore too_long(remote.zk, "/" + std::string(4090, 'x'), 2);
        CHECK(error_in(co_await too_long.acquire()) == errc::invalid_path);
        semaphore_options odd;
        odd.identifier = std::string(64 * 1024 + 1, 'x');
        CHECK(error_in(co_await semaphore(remote.zk, path, odd).acquire()) == errc::invalid_option);
        odd.identifier.clear();
        odd.count_path = "relative";
        CHECK(error_in(co_await semaphore(remote.zk, path, odd).acquire()) == errc::invalid_path);
        odd.count_path = "/semaphore/count_of_odd";
        odd.check_permits = true;
        CHECK(error_in(co_await semaphore(remote.zk, path, odd).acquire()) == errc::invalid_option);
        semaphore many(remote.zk, "/semaphore/many", 1'000'000);
        CHECK(error_in(co_await many.permits_of(500'000).acquire()) == errc::over_budget);

        permits held = must(co_await gate.acquire());
        semaphore other(remote.zk, path, 3); // the same client means two things
        CHECK(error_in(co_await other.acquire()) == errc::invalid_option);
        CHECK(error_in(co_await gate.permits_of(2).acquire(-5s)) == errc::timed_out);
        co_await release(std::move(held));
        co_await no_permit_left(server().port(), path);
        CHECK(error_in(co_await other.acquire()) == errc::invalid_option); // the first lives
        gate = semaphore(remote.zk, path, 3);
        co_await take_turn(other.permits_of(3));
        co_await remote.close();
        CHECK(error_in(co_await gate.acquire()) == errc::closed);
    };
    play<1>({.sessions = {120s}, .clean = places_of(path)}, story);
}

TEST_CASE("two programs that mean different numbers: the second is told, where they compare")
{
    for (const naming names : {naming::curator, naming::kazoo}) {
        const std::string path = names == naming::kazoo ? "/semaphore/compared_kazoo" : "/semaphore/compared";
        const auto story = [&](admin_client& admin, remote_client& first, remote_client& second,
                               remote_client& third) -> awaitable<void> {
            auto options = with(&semaphore_options::names, names, &semaphore_options::check_permits, true);
            options.permits = 2;
            semaphore two(first.zk, path, options);
            options.permits = 3;
            semaphore three(second.zk, path, options);
            permits held = must(co_await two.acquire());
            CHECK(admin.get(path) == "2");
            CHECK(error_in(co_await three.acquire()) == errc::invalid_option);
            CHECK(error_in(co_await three.try_acquire()) == errc::invalid_option);
            permits more = must(co_await two.acquire());
            co_await release(held, more);
            admin.set(path, "3");
            co_await take_turn(three.permits_of(3));
            admin.set(path, "somebody's notes");
            options.permits = 9;
            semaphore nine(third.zk, path, options);
            co_await take_turn(nine.permits_of(9));
            co_await no_permit_left(server().port(), path);
        };
        play<3>({.sessions = {120s, 120s, 120s}, .clean = places_of(path, names)}, story);
    }
}

TEST_CASE("the shared count: made where it is missing, raised and lowered while the semaphore is in use")
{
    const std::string path = "/semaphore/counted";
    const std::string count = "/semaphore/counts/deep/of_counted";
    const auto story = [&](admin_client& admin, remote_client& remote, remote_client& other) -> awaitable<void> {
        const auto options = with(&semaphore_options::permits, 1, &semaphore_options::count_path, count);
        semaphore gate(remote.zk, path, options), same(other.zk, path, options);
        client early(co_await asio::this_coro::executor, usual_options());
        semaphore unconnected(early, path, options);
        CHECK(error_in(co_await unconnected.permits_of(2).try_acquire()) == errc::not_connected);
        must(co_await early.close());
        CHECK(error_in(co_await gate.permits_of(2).try_acquire()) == errc::busy); // there is one
        permits one = must(co_await gate.acquire());
        CHECK(admin.get(count) == big_endian(1));
        auto two = begin(same, 2);
        co_await until_watched(other.zk, count);
        admin.set(count, big_endian(3));
        permits raised = co_await granted(two);
        CHECK(one);

        // Lowered: nothing is taken away, and nobody comes in until there is room under the new number.
        admin.set(count, big_endian(1));
        auto waits = begin(gate, 1);
        co_await until_watched(remote.zk, count);
        remote.link.forget();
        co_await release(std::move(one));
        must(co_await raised.release(1));
        CHECK(raised);
        co_await until("it has looked again", [&] { return remote.link.count(opcode::get_children2) != 0; });
        CHECK_FALSE(waits.ended());
        must(co_await raised.release(1));
        one = co_await granted(waits);

        admin.set(count, "what?");
        auto misled = begin(same, 1);
        CHECK(co_await misled.end() == errc::invalid_option);
        admin.set(count, big_endian(0));
        auto none = begin(same, 1);
        co_await until_watched(other.zk, count);
        co_await release(std::move(one));
        CHECK_FALSE(none.ended());
        admin.remove(count); // and is made again, with what there is by convention
        one = co_await granted(none);
        CHECK(admin.get(count) == big_endian(1));
        co_await release(std::move(one));
        co_await no_permit_left(server().port(), path);
        co_await until("the count is watched no more", [&] { return !watches(server().port()).contains(count); });
    };
    play<2>({.sessions = {120s, 120s}, .clean = places_of(path)}, story);
}

TEST_CASE("as a part of a multi_lock, and around a body")
{
    const std::string path = "/semaphore/within";
    const auto body = [&]() -> awaitable<void> {
        remote_client remote(co_await asio::this_coro::executor, server().port(), 120s);
        semaphore gate(remote.zk, path, 3);
        mutex lock(remote.zk, "/semaphore/a_mutex");
        multi_lock both(gate.permits_of(2), lock);
        multi_guard held = must(co_await both.acquire(5s));
        REQUIRE(held.locks().size() == 2);
        CHECK(held.locks()[1].path == path);
        CHECK(held.locks()[1].node.starts_with(path + "/leases/"));
        CHECK(must(co_await gate.holders()).size() == 2);
        CHECK(error_in(co_await both.try_acquire()) == errc::busy);
        must(co_await std::move(held).release());
        CHECK(must(co_await gate.holders()).empty());

        auto count = [&](permits& p) -> awaitable<result<std::size_t>> { co_return p.count(); };
        result<std::size_t> counted = co_await gate.permits_of(3).run(count);
        CHECK(must(counted) == 3);
        counted = co_await gate.run(5s, count);
        CHECK(must(counted) == 1);
        co_await no_permit_left(server().port(), path);
        co_await remote.close();
    };
    run_test_on_threads(2, 60s, body);
    expect_clean(server(), places_of(path));
}

TEST_CASE("what it costs in requests")
{
    const std::string path = "/semaphore/requests";
    const auto story = [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        admin.create_all(path + "/locks");
        admin.create_all(path + "/leases");
        co_await warm_up(remote, "/semaphore/warm");
        semaphore gate(remote.zk, path, 8);
        permits held = must(co_await gate.acquire());
        co_await release(std::move(held)); // the first reads the line, as the first acquire of a mutex does
        const auto line_free = [&] { return admin.children(path + "/locks").empty(); };
        co_await until("the line is empty", line_free);
        remote.link.forget();

        // The lock of the line, the node and the list together, and the lock back.
        held = must(co_await gate.acquire());
        co_await until("the lock is given back", [&] { return remote.link.count(opcode::remove) == 1; });
        CHECK(remote.link.count(opcode::create2) == 2);
        CHECK(remote.link.count(opcode::get_children2) == 1);
        CHECK(remote.link.count(opcode::remove) == 1);
        CHECK(requests(remote.link) == 4);
        remote.link.forget();
        co_await release(std::move(held));
        CHECK(remote.link.count(opcode::remove) == 1);
        CHECK(requests(remote.link) == 1);
        co_await until("the line is empty", line_free);
        remote.link.forget();

        // Several are no dearer than one.
        held = must(co_await gate.permits_of(5).acquire());
        co_await until("the lock is given back", [&] { return remote.link.count(opcode::remove) == 1; });
        CHECK(remote.link.count(opcode::multi) == 1);
        CHECK(remote.link.count_in_multis(opcode::create) + remote.link.count_in_multis(opcode::create2) == 5);
        CHECK(requests(remote.link) == 4);
        remote.link.forget();
        co_await release(std::move(held));
        CHECK(remote.link.count(opcode::multi) == 1);
        CHECK(requests(remote.link) == 1);
        co_await until("the line is empty", line_free);

        // A try that can see that there is no room reads, and writes nothing.
        remote_client other(co_await asio::this_coro::executor, server().port(), 120s);
        semaphore same(other.zk, path, 8);
        held = must(co_await same.permits_of(8).acquire());
        remote.link.forget();
        CHECK(error_in(co_await gate.try_acquire()) == errc::busy);
        CHECK(remote.link.count(opcode::get_children2) == 1);
        CHECK(requests(remote.link) == 1);

        // The wake-up of the head: one list, and the lock back; then nobody watches any more.
        auto waits = co_await queued(admin, path + "/leases", 9, begin(gate, 1));
        for (int look = 0; look < 2; ++look) // it looked when its node was made, and again, with a watch, when it knew
            must(co_await remote.zk.exists("/"));
        remote.link.forget();
        must(co_await held.release(1));
        permits woken = co_await granted(waits);
        co_await until("the watch is taken back", [&] { return remote.link.count(opcode::remove_watches) == 1; });
        CHECK(remote.link.count(opcode::get_children2) == 1);
        CHECK(remote.link.count(opcode::remove) == 1);
        CHECK(requests(remote.link) == 3);
        co_await release(woken, held);
        co_await no_permit_left(server().port(), path);
        co_await other.close();
    };
    play<1>({.sessions = {120s}, .clean = places_of(path)}, story);
}
