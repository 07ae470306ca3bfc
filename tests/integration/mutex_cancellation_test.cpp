// sanitizers: address
// program: mutexes
// Cancellation: wherever an acquire or a release is suspended, it ends, and nothing of it stays on the server while its
// client lives.
#include "integration/waiting_scene.hpp"

#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <future>

using namespace zklock::test;
using namespace asio::experimental::awaitable_operators;
using asio::cancellation_type;

namespace {

constexpr std::array cancellations{cancellation_type::terminal, cancellation_type::partial, cancellation_type::total,
                                   cancellation_type::all};

} // namespace

TEST_CASE("cancelled while waiting, with every type, and twice")
{
    const std::string path = "/timeouts/waiting";
    play<1>({.clean = {path}}, [&](admin_client& admin, client& zk) -> awaitable<void> {
        admin.create_all(path);
        const std::string holder = foreign_contender(admin, path);
        mutex lock(zk, path);
        for (const auto type : cancellations) {
            auto attempt = begin_acquire(lock);
            co_await until_watched(zk, holder);
            attempt.cancel(type);
            attempt.cancel(type);
            CHECK(co_await attempt.end() == asio::error::operation_aborted);
            CHECK_FALSE(attempt.value());
            attempt.cancel(type); // it is over; nobody is harmed
            co_await until_only_left(server().port(), holder);
        }

        // Of several only the one that is meant.
        auto first = begin_acquire(lock);
        auto second = begin_acquire(lock);
        auto third = co_await queued(admin, path, 4, begin_acquire(lock));
        second.cancel();
        CHECK(co_await second.end() == asio::error::operation_aborted);
        co_await until_queued(admin, path, 3);
        admin.remove(holder);
        guard held = co_await granted(first);
        CHECK_FALSE(third.ended());
        co_await release(std::move(held));
        co_await take_turn(third);
    });
}

TEST_CASE("cancelled at every point at which an acquire is suspended")
{
    const std::string path = "/timeouts/points";
    for (const auto& point : suspension_points)
        for (const auto type : cancellations) {
            CAPTURE(point.name);
            CAPTURE(static_cast<int>(type));
            play<1>({.clean = {path}}, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
                mutex lock(remote.zk, path);
                const auto stays = hold_up(remote, admin, path, point);
                auto attempt = begin_acquire(lock);
                proxy& link = remote.link;
                co_await until_asked(link, point.op, point.skip + 1);
                link.wait_struck();
                CHECK_FALSE(attempt.ended());
                attempt.cancel(type);
                CHECK(co_await attempt.end() == asio::error::operation_aborted); // before any answer can come
                attempt.cancel(type);
                link.release();
                co_await until_only_left(server().port(), stays);

                // The client is as good as before.
                for (const std::string& node : stays)
                    admin.remove(node);
                co_await take_turn(lock, 60s);
            });
        }
}

TEST_CASE("cancelled before anything was sent")
{
    const std::string path = "/timeouts/before";
    play<1>({.clean = {path}}, [&](remote_client& remote, const any_io_executor& executor) -> awaitable<void> {
        mutex lock(remote.zk, path);
        for (const auto type : cancellations) {
            pending<std::vector<contender>> under_way; // so that what comes next waits for its turn
            lock.contenders(under_way.handler());
            auto attempt = begin_acquire(lock);
            attempt.cancel(type);
            under_way.cancel(type); // before any answer can come
            CHECK_FALSE(attempt.ended());
            CHECK(co_await attempt.end() == asio::error::operation_aborted);
            CHECK(co_await under_way.end() == asio::error::operation_aborted);
        }
        CHECK(remote.link.count(opcode::create) + remote.link.count(opcode::create2) == 0);
        CHECK(remote.link.count(opcode::multi) == 0);

        // A client with nothing under way begins at once: there is a node to delete.
        for (const auto type : cancellations) {
            auto attempt = begin_acquire(lock);
            attempt.cancel(type);
            CHECK_FALSE(attempt.ended());
            CHECK(co_await attempt.end() == asio::error::operation_aborted);
            co_await nothing_left(server().port());
        }

        // While there is no connection.
        const port_lease nobody;
        client away(executor, fault_options("127.0.0.1:" + std::to_string(nobody.port()), 10s));
        mutex unreachable(away, path);
        auto attempt = begin_acquire(unreachable);
        CHECK(error_in(co_await unreachable.acquire(100ms)) == errc::not_connected);
        CHECK_FALSE(attempt.ended());
        attempt.cancel(cancellation_type::total);
        CHECK(co_await attempt.end() == asio::error::operation_aborted);
        pending<> connecting;
        away.wait_connected(1h, connecting.handler());
        connecting.cancel();
        CHECK(co_await connecting.end() == asio::error::operation_aborted);
        must(co_await away.close());

        // A stale cancellation does not hit the next one.
        attempt = begin_acquire(lock);
        guard held = co_await granted(attempt);
        attempt.cancel();
        CHECK(held);
        co_await release(std::move(held));
    });
}

TEST_CASE("cancelled somewhere on the way of the grant: either wins, and no lock is left")
{
    const std::string path = "/timeouts/grant";
    play<1>({.clean = {path}}, [&](client& zk) -> awaitable<void> {
        mutex lock(zk, path);
        asio::steady_timer timer(co_await asio::this_coro::executor);
        int granted = 0, aborted = 0;
        for (auto after = 0us; after < 10ms && (after < 1ms || granted == 0); after += 50us) {
            auto attempt = begin_acquire(lock);
            timer.expires_after(after);
            co_await timer.async_wait(asio::use_awaitable);
            attempt.cancel(cancellation_type::total);
            const error_code ec = co_await attempt.end();
            CHECK((ec == asio::error::operation_aborted) == !attempt.value());
            ++(ec ? aborted : granted);
        }
        CHECK(granted > 0);
        CHECK(aborted > 0);
    });
}

TEST_CASE("a cancelled release goes on, and so does one whose delete is on its way")
{
    const std::string path = "/timeouts/release";
    play<1>({.clean = {path}}, [&](remote_client& remote) -> awaitable<void> {
        mutex lock(remote.zk, path);
        for (const auto type : cancellations) { // before it has begun
            guard held = must(co_await lock.acquire());
            auto releasing = begin_release(held);
            releasing.cancel(type);
            CHECK(co_await releasing.end() == asio::error::operation_aborted);
            co_await nothing_left(server().port());
        }
        for (const auto at : {moment::request, moment::reply})
            for (const auto type : cancellations) {
                guard held = must(co_await lock.acquire());
                remote.link.on_next(opcode::remove, at, fate::hold);
                auto releasing = begin_release(held);
                co_await until_asked(remote.link, opcode::remove);
                remote.link.wait_struck();
                CHECK_FALSE(releasing.ended());
                releasing.cancel(type);
                CHECK(co_await releasing.end() == asio::error::operation_aborted);
                remote.link.release();
                co_await nothing_left(server().port());
                remote.link.forget();
            }
        // The wait for a loss can be cancelled, too, and takes nothing with it.
        guard held = must(co_await lock.acquire());
        auto losing = begin_wait_lost(held);
        losing.cancel(cancellation_type::partial);
        CHECK(co_await losing.end() == asio::error::operation_aborted);
        CHECK(held);
        co_await release(std::move(held));
    });
}

TEST_CASE("when the waiter in the middle gives up, the one behind it watches the one before it")
{
    const std::string path = "/timeouts/middle";
    play<3>({.clean = {path}}, [&](admin_client& admin, client& a, client& b, client& c) -> awaitable<void> {
        guard first = must(co_await mutex(a, path).acquire());
        const std::string first_node = first.node();
        auto second = co_await queued(admin, path, 2, begin_acquire(mutex(b, path)));
        const std::string second_node = path + "/" + queue_of(admin, path).back();
        auto third = begin_acquire(mutex(c, path));
        co_await until_watched(c, second_node);
        co_await until_watched(c, first_node); // it looks ahead

        second.cancel();
        CHECK(co_await second.end() == asio::error::operation_aborted);
        const auto first_watched = [&] {
            return watches_node(server().port(), c.session_id(), first_node) &&
                   !watches_node(server().port(), b.session_id(), first_node);
        };
        co_await until("the third still watches the first, and the second no more", first_watched);
        CHECK_FALSE(third.ended());

        co_await release(std::move(first));
        co_await take_turn(third);
    });
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
    play<1>({.clean = {path}}, [&](admin_client& admin, client& zk) -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        admin.create_all(path);
        const std::string holder = foreign_contender(admin, path);
        mutex lock(zk, path);

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

        // As a whole, a group of two.
        ended = false;
        error_code one, other_one;
        const auto both_ended = [&](auto, error_code a, const guard&, error_code b, const guard&) {
            one = a;
            other_one = b;
            ended = true;
        };
        asio::experimental::make_parallel_group(lock.acquire(asio::deferred), lock.acquire(asio::deferred))
            .async_wait(asio::experimental::wait_for_all(), asio::bind_cancellation_slot(cancel.slot(), both_ended));
        co_await until_queued(admin, path, 3);
        cancel.emit(cancellation_type::total);
        co_await until("the group ended", has_ended);
        CHECK(one == asio::error::operation_aborted);
        CHECK(other_one == asio::error::operation_aborted);
        co_await until_only_left(server().port(), holder);

        // Granted, and nobody there to take it: the guard goes the way of every guard.
        auto attempt = co_await queued(admin, path, 2, begin_acquire(lock));
        admin.remove(holder);
        {
            const guard held = co_await granted(attempt);
            CHECK(held);
        }
        attempt = pending<guard>();
    });
}

namespace {

awaitable<void> release_when_cancelled(guard held)
{
    asio::steady_timer forever(co_await asio::this_coro::executor, 1h);
    co_await forever.async_wait(asio::as_tuple(asio::use_awaitable));
    must(co_await std::move(held).release());
}

} // namespace

TEST_CASE("a coroutine that was cancelled before its release: it throws, never releases, and the lock is free anyway")
{
    const std::string path = "/timeouts/coroutine";
    play<1>({.clean = {path}}, [&](client& zk, const any_io_executor& executor) -> awaitable<void> {
        mutex lock(zk, path);
        asio::cancellation_signal cancel;
        std::exception_ptr thrown;
        const auto at_end = [&thrown](std::exception_ptr e) { thrown = e; };
        guard held = must(co_await lock.acquire());
        asio::co_spawn(executor, release_when_cancelled(std::move(held)),
                       asio::bind_cancellation_slot(cancel.slot(), at_end));
        co_await asio::post(executor, asio::use_awaitable);
        cancel.emit(cancellation_type::terminal);
        co_await until("the coroutine ended", [&thrown] { return thrown != nullptr; });
        CHECK_THROWS_AS(std::rethrow_exception(thrown), boost::system::system_error);
        co_await take_turn(lock, 60s);
    });
}

TEST_CASE("a signal that is emitted on a strand of its own, while a pool of threads works")
{
    asio::thread_pool pool(4);
    client c(pool, usual_options());
    mutex lock(c, "/timeouts/pool");
    struct cancellable {
        explicit cancellable(asio::thread_pool& pool) : strand(pool.get_executor()) {}
        asio::strand<asio::thread_pool::executor_type> strand; // the signal's and the handler's
        asio::cancellation_signal cancel;
        std::promise<bool> granted;
    };
    std::vector<std::unique_ptr<cancellable>> all;
    for (int i = 0; i < 400; ++i) {
        auto& one = *all.emplace_back(std::make_unique<cancellable>(pool));
        asio::post(one.strand, [&] {
            auto ended = [&](error_code ec, guard) { // given back at once
                CHECK((!ec || ec == asio::error::operation_aborted));
                one.granted.set_value(!ec);
            };
            lock.acquire(asio::bind_cancellation_slot(one.cancel.slot(), asio::bind_executor(one.strand, ended)));
        });
        asio::post(one.strand, [&] { one.cancel.emit(cancellation_type::total); });
    }
    for (const auto& each : all) {
        auto granted = each->granted.get_future();
        REQUIRE(granted.wait_for(120s) == std::future_status::ready);
    }
    CHECK(lock.acquire(60s, asio::use_future).get());
    c.close(asio::use_future).get();
    pool.join();
    expect_clean(server(), {"/timeouts/pool"});
}
