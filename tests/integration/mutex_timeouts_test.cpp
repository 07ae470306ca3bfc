// Time-outs and cancellation: when an acquire ends, and that nothing of it stays on the server while its client lives.
#include "integration/lock_scene.hpp"
#include "support/one_server.hpp"

#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/parallel_group.hpp>

#include <array>
#include <limits>
#include <string_view>

using namespace zklock;
using namespace zklock::test;
using namespace asio::experimental::awaitable_operators;
using asio::cancellation_type;

namespace {

client_options options()
{
    return fault_options(server().address(), milliseconds{30'000});
}

constexpr std::array cancellations{cancellation_type::terminal, cancellation_type::partial, cancellation_type::total};

/// A node that holds the lock of the path, or queues for it, until the administrator deletes it.
std::string foreign_contender(admin_client& admin, const std::string& path)
{
    return admin.create(path + "/_c_00000000-0000-4000-8000-000000000000-lock-", {}, create_mode::ephemeral_sequential);
}

} // namespace

TEST_CASE("a time-out ends at its time and leaves no node and no watch")
{
    const std::string path = "/timeouts/plain";
    const auto body = [&]() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor, options());
        admin_client admin(server().port(), 60s);
        admin.create_all(path);
        const std::string holder = foreign_contender(admin, path);
        mutex lock(zk, path);
        for (const milliseconds timeout : {1ms, 50ms, 300ms}) {
            const auto start = lease_clock::now();
            CHECK(error_in(co_await lock.acquire(timeout)) == errc::timed_out);
            const auto took = lease_clock::now() - start;
            CHECK(took >= timeout);
            CHECK(took < timeout + 15s); // not at a session's end, nor at the next heartbeat but one
            co_await until_only_left(server().port(), holder);
        }
        // In the order of their deadlines, not of their calls.
        auto late = begin_acquire(lock, 400ms);
        auto early = begin_acquire(lock, 100ms);
        const error_code early_end = co_await early.end();
        CHECK(early_end == errc::timed_out);
        const error_code late_end = co_await late.end();
        CHECK(late_end == errc::timed_out);
        CHECK(early.ended_at() < late.ended_at());
        co_await until_only_left(server().port(), holder);

        admin.remove(holder);
        guard held = must(co_await lock.acquire(60s)); // no earlier attempt stands in its way
        co_await release(std::move(held));
        co_await nothing_left(server().port());
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    expect_clean(server(), {path});
}

TEST_CASE("one deadline, however often the waiter is woken")
{
    const std::string path = "/timeouts/one_deadline";
    constexpr milliseconds timeout{8'000};
    constexpr std::size_t wakes = 5;
    const auto body = [&]() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor, options());
        admin_client admin(server().port(), 60s);
        admin.create_all(path);
        std::vector<std::string> ahead;
        for (std::size_t i = 0; i <= wakes; ++i)
            ahead.push_back(foreign_contender(admin, path));
        mutex lock(zk, path);
        must(co_await zk.wait_connected(60s));

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
        const error_code ec = co_await attempt.end();
        CHECK(ec == errc::timed_out);
        CHECK(attempt.ended_at() - start >= timeout);
        CHECK(attempt.ended_at() < last_wake + timeout);
        CHECK(last_wake - start >= timeout / 2);
        co_await until_only_left(server().port(), ahead[0]);
        admin.remove(ahead[0]);
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    expect_clean(server(), {path});
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
    pending<guard> attempt;
    busy.acquire(timeout, attempt.handler());
    CHECK(error_in(co_await busy.acquire(150ms)) == errc::timed_out); // the clock has gone on meanwhile
    CHECK_FALSE(attempt.ended());
    attempt.cancel();
    const error_code ec = co_await attempt.end();
    CHECK(ec == asio::error::operation_aborted);
}

} // namespace

TEST_CASE("no time at all looks once, a huge time never ends")
{
    const std::string path = "/timeouts/extreme/free";
    const std::string busy_path = "/timeouts/extreme/busy";
    const auto body = [&]() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor, options());
        admin_client admin(server().port(), 60s);
        admin.create_all(path);
        admin.create_all(busy_path);
        const std::string holder = foreign_contender(admin, busy_path);
        mutex lock(zk, path);
        mutex busy(zk, busy_path);
        CHECK(error_in(co_await lock.acquire(0s)) == errc::timed_out); // not connected yet
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
    };
    run_test(test_limit, body);
    expect_clean(server(), {path, busy_path});
}

TEST_CASE("cancelled while waiting, with every type, and twice")
{
    const std::string path = "/timeouts/waiting";
    const auto body = [&]() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor, options());
        admin_client admin(server().port(), 60s);
        admin.create_all(path);
        const std::string holder = foreign_contender(admin, path);
        mutex lock(zk, path);
        const auto watched = [&] { return watches_node(server().port(), zk.session_id(), holder); };
        for (const auto type : cancellations) {
            auto attempt = begin_acquire(lock);
            co_await until("the holder is watched", watched);
            attempt.cancel(type);
            attempt.cancel(type);
            const error_code ec = co_await attempt.end();
            CHECK(ec == asio::error::operation_aborted);
            CHECK_FALSE(attempt.value());
            attempt.cancel(type); // it is over; nobody is harmed
            co_await until_only_left(server().port(), holder);
        }

        // Of several only the one that is meant.
        auto first = begin_acquire(lock);
        auto second = begin_acquire(lock);
        auto third = begin_acquire(lock);
        co_await until_queued(admin, path, 4);
        second.cancel();
        const error_code ec = co_await second.end();
        CHECK(ec == asio::error::operation_aborted);
        co_await until_queued(admin, path, 3);
        admin.remove(holder);
        guard held = co_await granted(first);
        CHECK_FALSE(third.ended());
        co_await release(std::move(held));
        held = co_await granted(third);
        co_await release(std::move(held));
        co_await nothing_left(server().port());
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    expect_clean(server(), {path});
}

namespace {

struct suspension_point {
    std::string_view name;
    opcode op;
    moment at;
    bool contended;
    std::size_t skip = 0;
};

// What an acquire sends, in its order: the create with the watch of the path behind it; when somebody is before it, the read
// of the children, and the watches on its own node and on its predecessor's.
constexpr std::array suspension_points{
    suspension_point{"create, not yet done", opcode::create2, moment::request, false},
    suspension_point{"create, not yet done, behind a holder", opcode::create2, moment::request, true},
    suspension_point{"create, done", opcode::create2, moment::reply, false},
    suspension_point{"create, done, behind a holder", opcode::create2, moment::reply, true},
    suspension_point{"path, not yet watched", opcode::get_data, moment::request, false},
    suspension_point{"path, watched", opcode::get_data, moment::reply, false},
    suspension_point{"path, watched, behind a holder", opcode::get_data, moment::reply, true},
    suspension_point{"children, not yet read, behind a holder", opcode::get_children2, moment::request, true},
    suspension_point{"children, read, behind a holder", opcode::get_children2, moment::reply, true},
    suspension_point{"watch, not yet set", opcode::get_data, moment::request, true, 1},
    suspension_point{"watch, set", opcode::get_data, moment::reply, true, 1},
};

} // namespace

TEST_CASE("cancelled at every point at which an acquire is suspended")
{
    const std::string path = "/timeouts/points";
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        admin_client admin(server().port(), 60s);
        admin.create_all(path);
        for (const auto& point : suspension_points)
            for (const auto type : cancellations) {
                CAPTURE(point.name);
                CAPTURE(static_cast<int>(type));
                remote_client remote(executor, server().port());
                co_await remote.connect();
                mutex lock(remote.zk, path);
                std::vector<std::string> expected;
                if (point.contended)
                    expected.push_back(foreign_contender(admin, path));

                remote.link.on_next(point.op, point.at, fate::hold, point.skip);
                auto attempt = begin_acquire(lock);
                proxy& link = remote.link;
                const auto struck = [&link, &point] { return link.count(point.op) > point.skip; };
                co_await until("the request is on its way", struck);
                remote.link.wait_struck();
                CHECK_FALSE(attempt.ended());
                attempt.cancel(type);
                const error_code ec = co_await attempt.end(); // before any answer can come
                CHECK(ec == asio::error::operation_aborted);
                attempt.cancel(type);
                remote.link.release();
                co_await until_only_left(server().port(), expected);

                // The client is as good as before.
                if (point.contended)
                    admin.remove(expected[0]);
                guard held = must(co_await lock.acquire(60s));
                co_await release(std::move(held));
                co_await nothing_left(server().port());
                co_await remote.close();
            }
    };
    run_test(test_limit, body);
    expect_clean(server(), {path});
}

TEST_CASE("timed out at every point at which an acquire is suspended")
{
    const std::string path = "/timeouts/points_in_time";
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        admin_client admin(server().port(), 60s);
        admin.create_all(path);
        for (const auto& point : suspension_points) {
            CAPTURE(point.name);
            remote_client remote(executor, server().port());
            co_await remote.connect();
            mutex lock(remote.zk, path);
            std::vector<std::string> expected;
            if (point.contended)
                expected.push_back(foreign_contender(admin, path));
            remote.link.on_next(point.op, point.at, fate::hold, point.skip);
            // Where everything is slow, one time-out may be over before the request is on its way.
            for (milliseconds timeout = 100ms; timeout < default_limit && !remote.link.struck(); timeout *= 2)
                CHECK(error_in(co_await lock.acquire(timeout)) == errc::timed_out);
            remote.link.wait_struck();
            remote.link.release();
            co_await until_only_left(server().port(), expected);
            for (const std::string& node : expected)
                admin.remove(node);
            co_await remote.close();
        }
    };
    run_test(test_limit, body);
    expect_clean(server(), {path});
}

TEST_CASE("cancelled before anything was sent")
{
    const std::string path = "/timeouts/before";
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        remote_client remote(executor, server().port());
        co_await remote.connect();
        mutex lock(remote.zk, path);
        for (const auto type : cancellations) {
            pending<std::vector<contender>> under_way; // so that what comes next waits for its turn
            lock.contenders(under_way.handler());
            auto attempt = begin_acquire(lock);
            attempt.cancel(type);
            CHECK_FALSE(attempt.ended());
            const error_code ec = co_await attempt.end();
            CHECK(ec == asio::error::operation_aborted);
            co_await under_way.end();
        }
        CHECK(remote.link.count(opcode::create) + remote.link.count(opcode::create2) == 0);
        CHECK(remote.link.count(opcode::multi) == 0);

        // A client with nothing under way begins at once: there is a node to delete.
        for (const auto type : cancellations) {
            auto attempt = begin_acquire(lock);
            attempt.cancel(type);
            CHECK_FALSE(attempt.ended());
            const error_code ec = co_await attempt.end();
            CHECK(ec == asio::error::operation_aborted);
            co_await nothing_left(server().port());
        }

        // While there is no connection.
        const port_lease nobody;
        client away(executor, fault_options("127.0.0.1:" + std::to_string(nobody.port()), 10s));
        mutex unreachable(away, path);
        auto attempt = begin_acquire(unreachable);
        CHECK(error_in(co_await unreachable.acquire(100ms)) == errc::timed_out);
        CHECK_FALSE(attempt.ended());
        attempt.cancel(cancellation_type::total);
        const error_code ec = co_await attempt.end();
        CHECK(ec == asio::error::operation_aborted);
        pending<> connecting;
        away.wait_connected(1h, connecting.handler());
        connecting.cancel();
        const error_code not_waited = co_await connecting.end();
        CHECK(not_waited == asio::error::operation_aborted);
        must(co_await away.close());

        // A stale cancellation does not hit the next one.
        attempt = begin_acquire(lock);
        guard held = co_await granted(attempt);
        attempt.cancel();
        CHECK(held);
        co_await release(std::move(held));
        co_await nothing_left(server().port());
        co_await remote.close();
    };
    run_test(test_limit, body);
    expect_clean(server(), {path});
}

TEST_CASE("a cancelled release goes on, and so does one whose delete is on its way")
{
    const std::string path = "/timeouts/release";
    const auto body = [&]() -> awaitable<void> {
        remote_client remote(co_await asio::this_coro::executor, server().port());
        mutex lock(remote.zk, path);
        for (const auto at : {moment::request, moment::reply})
            for (const auto type : cancellations) {
                guard held = must(co_await lock.acquire());
                remote.link.on_next(opcode::remove, at, fate::hold);
                auto releasing = begin_release(held);
                const auto struck = [&] { return remote.link.count(opcode::remove) > 0; };
                co_await until("the delete is on its way", struck);
                remote.link.wait_struck();
                CHECK_FALSE(releasing.ended());
                releasing.cancel(type);
                const error_code ec = co_await releasing.end();
                CHECK(ec == asio::error::operation_aborted);
                remote.link.release();
                co_await nothing_left(server().port());
                remote.link.forget();
            }
        // The wait for a loss can be cancelled, too, and takes nothing with it.
        guard held = must(co_await lock.acquire());
        auto losing = begin_wait_lost(held);
        losing.cancel(cancellation_type::partial);
        const error_code ec = co_await losing.end();
        CHECK(ec == asio::error::operation_aborted);
        CHECK(held);
        co_await release(std::move(held));
        co_await remote.close();
    };
    run_test(test_limit, body);
    expect_clean(server(), {path});
}

TEST_CASE("when the waiter in the middle gives up, the one behind it watches the one before it")
{
    const std::string path = "/timeouts/middle";
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        admin_client admin(server().port());
        client a(executor, options());
        client b(executor, options());
        client c(executor, options());
        guard first = must(co_await mutex(a, path).acquire());
        const std::string first_node = first.node();
        auto second = begin_acquire(mutex(b, path));
        co_await until_queued(admin, path, 2);
        const std::string second_node = path + "/" + queue_of(admin, path).back();
        auto third = begin_acquire(mutex(c, path));
        const auto both_watched = [&] {
            return watches_node(server().port(), c.session_id(), second_node)
                && watches_node(server().port(), c.session_id(), first_node);
        };
        co_await until("the third watches the second, and looks ahead to the first", both_watched);

        second.cancel();
        const error_code ec = co_await second.end();
        CHECK(ec == asio::error::operation_aborted);
        const auto first_watched = [&] {
            return watches_node(server().port(), c.session_id(), first_node)
                && !watches_node(server().port(), b.session_id(), first_node);
        };
        co_await until("the third still watches the first, and the second no more", first_watched);
        CHECK_FALSE(third.ended());

        co_await release(std::move(first));
        guard held = co_await granted(third);
        co_await release(std::move(held));
        co_await nothing_left(server().port());
        for (client* zk : {&a, &b, &c})
            must(co_await zk->close());
    };
    run_test(test_limit, body);
    expect_clean(server(), {path});
}

namespace {

awaitable<void> acquire_and_note(mutex lock, error_code& ec)
{
    const result<guard> r = co_await lock.acquire();
    ec = error_in(r);
}

} // namespace

TEST_CASE("cancelled by a race of awaitables, by a group, and through the slot of a coroutine")
{
    const std::string path = "/timeouts/composed";
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client zk(executor, options());
        admin_client admin(server().port(), 60s);
        admin.create_all(path);
        const std::string holder = foreign_contender(admin, path);
        mutex lock(zk, path);
        must(co_await zk.wait_connected(60s));

        asio::steady_timer timer(executor, 100ms);
        auto waiting = lock.acquire(asio::use_awaitable);
        auto alarm = timer.async_wait(asio::use_awaitable);
        const std::variant<guard, std::monostate> first = co_await (std::move(waiting) || std::move(alarm));
        CHECK(first.index() == 1);
        co_await until_only_left(server().port(), holder);

        timer.expires_after(100ms);
        auto in_group = lock.acquire(asio::deferred);
        auto group_alarm = timer.async_wait(asio::deferred);
        auto group = asio::experimental::make_parallel_group(std::move(in_group), std::move(group_alarm));
        const auto [order, group_ec, none, alarm_ec] =
            co_await group.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
        CHECK(order[0] == 1);
        CHECK(group_ec == asio::error::operation_aborted);
        CHECK_FALSE(none);
        CHECK_FALSE(alarm_ec);
        co_await until_only_left(server().port(), holder);

        // The lock and the alarm the other way round: free, it wins.
        const std::string other = path + "_free";
        mutex free_lock(zk, other);
        timer.expires_after(1h);
        auto winning = free_lock.acquire(asio::use_awaitable);
        auto late_alarm = timer.async_wait(asio::use_awaitable);
        std::variant<guard, std::monostate> won = co_await (std::move(winning) || std::move(late_alarm));
        REQUIRE(won.index() == 0);
        CHECK(std::get<0>(won));
        co_await release(std::move(std::get<0>(won)));

        asio::cancellation_signal cancel;
        bool ended = false;
        error_code ec;
        const auto at_end = [&ended](std::exception_ptr) { ended = true; };
        asio::co_spawn(executor, acquire_and_note(lock, ec), asio::bind_cancellation_slot(cancel.slot(), at_end));
        co_await until_queued(admin, path, 2);
        cancel.emit(cancellation_type::terminal);
        const auto has_ended = [&] { return ended; };
        co_await until("the coroutine ended", has_ended);
        CHECK(ec == asio::error::operation_aborted);
        co_await until_only_left(server().port(), holder);

        // Granted, and nobody there to take it: the guard goes the way of every guard.
        auto attempt = begin_acquire(lock);
        co_await until_queued(admin, path, 2);
        admin.remove(holder);
        {
            const guard held = co_await granted(attempt);
            CHECK(held);
        }
        attempt = pending<guard>();
        co_await nothing_left(server().port());
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    expect_clean(server(), {path});
}
