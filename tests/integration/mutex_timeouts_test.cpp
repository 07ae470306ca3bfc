// sanitizers: none
// program: mutexes
// Time-outs: when an acquire ends, and that nothing of it stays on the server while its client lives.
#include "integration/waiting_scene.hpp"

using namespace zklock::test;

TEST_CASE("a time-out ends at its time and leaves no node and no watch")
{
    const std::string path = "/timeouts/plain";
    play<1>({.clean = {path}}, [&](admin_client& admin, client& zk) -> awaitable<void> {
        admin.create_all(path);
        const std::string holder = foreign_contender(admin, path);
        mutex lock(zk, path);
        for (const milliseconds timeout : {1ms, 50ms, 300ms}) {
            const auto start = lease_clock::now();
            CHECK(error_in(co_await lock.acquire(timeout)) == condition::not_in_time);
            const auto took = lease_clock::now() - start;
            CHECK(took >= timeout);
            CHECK(took < timeout + 15s); // not at a session's end, nor at the next heartbeat but one
            co_await until_only_left(server().port(), holder);
        }
        // In the order of their deadlines, not of their calls.
        auto late = begin_acquire(lock, 2s);
        auto early = begin_acquire(lock, 100ms);
        CHECK(co_await early.end() == condition::not_in_time);
        CHECK(co_await late.end() == errc::timed_out);
        CHECK(early.ended_at() < late.ended_at());
        co_await until_only_left(server().port(), holder);

        admin.remove(holder);
        co_await take_turn(lock, 60s); // no earlier attempt stands in its way
    });
}

TEST_CASE("one deadline, however often the waiter is woken")
{
    const std::string path = "/timeouts/one_deadline";
    constexpr milliseconds timeout{8'000};
    constexpr std::size_t wakes = 5;
    play<1>({.clean = {path}}, [&](admin_client& admin, client& zk) -> awaitable<void> {
        admin.create_all(path);
        std::vector<std::string> ahead;
        for (std::size_t i = 0; i <= wakes; ++i)
            ahead.push_back(foreign_contender(admin, path));
        mutex lock(zk, path);

        const auto start = steady_clock::now();
        auto attempt = begin_acquire(lock, timeout);
        for (std::size_t i = wakes; i > 0; --i) {
            // Spread over the time, so that a deadline that began again at a wake would end clearly later.
            const auto due = start + timeout / 2 * static_cast<int>(wakes - i + 1) / static_cast<int>(wakes);
            const auto watched = [&] {
                return steady_clock::now() >= due && watches_node(server().port(), zk.session_id(), ahead[i]);
            };
            co_await until("its predecessor is watched", watched);
            admin.remove(ahead[i]);
        }
        const auto last_wake = steady_clock::now();
        CHECK(co_await attempt.end() == errc::timed_out);
        CHECK(attempt.ended_at() - start >= timeout);
        CHECK(attempt.ended_at() < last_wake + timeout);
        CHECK(last_wake - start >= timeout / 2);
        co_await until_only_left(server().port(), ahead[0]);
        admin.remove(ahead[0]);
    });
}

namespace {

template <class Duration> awaitable<void> looks_once(mutex lock, mutex busy, Duration timeout, admin_client& admin)
{
    guard held = must(co_await lock.acquire(timeout));
    CHECK(held);
    co_await release(std::move(held));
    const auto before = admin.exists(busy.path());
    CHECK(error_in(co_await busy.acquire(timeout)) == errc::timed_out);
    const auto after = admin.exists(busy.path());
    CHECK(before->cversion == after->cversion); // nothing was created to find that out
}

template <class Duration> awaitable<void> waits_for_ever(mutex lock, mutex busy, Duration timeout)
{
    guard held = must(co_await lock.acquire(timeout));
    CHECK(held);
    co_await release(std::move(held));
    auto attempt = begin_acquire(busy, timeout);
    CHECK(error_in(co_await busy.acquire(150ms)) == condition::not_in_time); // the clock has gone on meanwhile
    CHECK_FALSE(attempt.ended());
    attempt.cancel();
    CHECK(co_await attempt.end() == asio::error::operation_aborted);
}

} // namespace

TEST_CASE("no time at all looks once, a huge time never ends")
{
    const std::string path = "/timeouts/extreme/free";
    const std::string busy_path = "/timeouts/extreme/busy";
    play<0>({.clean = {path, busy_path}}, [&]() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor, usual_options());
        admin_client admin(server().port(), 60s);
        admin.create_all(path);
        admin.create_all(busy_path);
        const std::string holder = foreign_contender(admin, busy_path);
        mutex lock(zk, path), busy(zk, busy_path);
        CHECK(error_in(co_await lock.acquire(0s)) == errc::not_connected); // it has not had the time to connect
        must(co_await zk.wait_connected(60s));

        co_await looks_once(lock, busy, 0s, admin);
        co_await looks_once(lock, busy, -1ns, admin);
        co_await looks_once(lock, busy, std::chrono::nanoseconds::min(), admin);
        co_await looks_once(lock, busy, std::chrono::hours::min(), admin);
        co_await looks_once(lock, busy, std::chrono::duration<double>(-1e300), admin);
        co_await looks_once(lock, busy, std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN()), admin);

        co_await waits_for_ever(lock, busy, std::chrono::nanoseconds::max());
        co_await waits_for_ever(lock, busy, std::chrono::hours::max());
        co_await waits_for_ever(lock, busy, std::chrono::years::max());
        co_await waits_for_ever(lock, busy, std::chrono::duration<double>(1e300));
        co_await waits_for_ever(lock, busy, std::chrono::duration<double>(std::numeric_limits<double>::infinity()));

        co_await until_only_left(server().port(), holder);
        CHECK(error_in(co_await zk.wait_connected(std::chrono::hours::max())) == error_code());
        CHECK(error_in(co_await zk.wait_connected(-1s)) == error_code());
        admin.remove(holder);
        must(co_await zk.close());
    });
}

TEST_CASE("timed out at every point at which an acquire is suspended")
{
    const std::string path = "/timeouts/points_in_time";
    for (const auto& point : suspension_points) {
        CAPTURE(point.name);
        play<1>({.clean = {path}}, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
            mutex lock(remote.zk, path);
            const auto stays = hold_up(remote, admin, path, point);
            // Where everything is slow, one time-out may be over before the request is on its way.
            for (milliseconds timeout = 100ms; timeout < default_limit && !remote.link.struck(); timeout *= 2)
                CHECK(error_in(co_await lock.acquire(timeout)) == condition::not_in_time);
            remote.link.wait_struck();
            remote.link.release();
            co_await until_only_left(server().port(), stays);
            for (const std::string& node : stays)
                admin.remove(node);
        });
    }
}
