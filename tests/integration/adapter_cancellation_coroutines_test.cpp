// sanitizers: address
// program: adapter
// Cancellation by coroutines and groups that are cancelled themselves, and by signals of other threads.
#include "integration/adapter_scene.hpp"
#include "support/expect_clean.hpp"
#include "support/one_server.hpp"
#include "support/run_test.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <vector>

using namespace zklock;
using namespace zklock::test;
using asio::cancellation_type;

TEST_CASE("coroutines: cancelled while waiting, while releasing, and as one of a group")
{
    auto body = [&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client c(executor, options_for(server().address()));
        mutex lock(c, "/cancel");
        result<guard> held = co_await lock.acquire(60s);
        REQUIRE(held);

        // A coroutine that waits, cancelled from outside: the result says so, the next co_await throws.
        asio::cancellation_signal cancel;
        std::optional<error_code> inner;
        bool thrown = false;
        auto waiter = [&]() -> asio::awaitable<void> {
            result<guard> mine = co_await lock.acquire();
            inner = mine.has_error() ? mine.error() : error_code();
            co_await lock.contenders(asio::as_tuple(asio::use_awaitable));
        };
        auto ended = asio::co_spawn(executor, waiter(), asio::deferred);
        asio::steady_timer over(executor, 1h);
        auto at_end = [&](std::exception_ptr e) {
            try {
                std::rethrow_exception(e);
            } catch (const boost::system::system_error& error) {
                thrown = error.code() == asio::error::operation_aborted;
            }
            over.cancel();
        };
        std::move(ended)(asio::bind_cancellation_slot(cancel.slot(), at_end));
        for (std::size_t queued = 0; queued < 2;)
            queued = (co_await lock.contenders()).value().size();
        cancel.emit(cancellation_type::terminal);
        co_await over.async_wait(asio::as_tuple(asio::use_awaitable));
        CHECK(inner == error_code(asio::error::operation_aborted));
        CHECK(thrown);

        // A release in a coroutine that was cancelled before: it throws, never starts, and the lock is free anyway.
        auto releaser = [&]() -> asio::awaitable<void> {
            guard mine = std::move(held.value());
            asio::steady_timer forever(co_await asio::this_coro::executor, 1h);
            co_await forever.async_wait(asio::as_tuple(asio::use_awaitable));
            static_cast<void>(co_await std::move(mine).release());
        };
        thrown = false;
        over.expires_after(1h);
        auto releasing = asio::co_spawn(executor, releaser(), asio::deferred);
        std::move(releasing)(asio::bind_cancellation_slot(cancel.slot(), at_end));
        co_await asio::post(executor, asio::use_awaitable);
        cancel.emit(cancellation_type::terminal);
        co_await over.async_wait(asio::as_tuple(asio::use_awaitable));
        CHECK(thrown);
        result<guard> again = co_await lock.acquire(60s);
        REQUIRE(again);

        // A group whose timer wins, and one that is cancelled as a whole.
        using asio::experimental::make_parallel_group;
        asio::steady_timer timer(executor, 20ms);
        auto [order, timed, waited, none] =
            co_await make_parallel_group(timer.async_wait(asio::deferred), lock.acquire(asio::deferred))
                .async_wait(asio::experimental::wait_for_one(), asio::as_tuple(asio::use_awaitable));
        CHECK(order[0] == 0);
        CHECK_FALSE(timed);
        CHECK(waited == asio::error::operation_aborted);
        std::optional<error_code> first, second;
        auto both_ended = [&](auto, error_code a, guard, error_code b, guard) {
            first = a;
            second = b;
            over.cancel();
        };
        make_parallel_group(lock.acquire(asio::deferred), lock.acquire(asio::deferred))
            .async_wait(asio::experimental::wait_for_all(), asio::bind_cancellation_slot(cancel.slot(), both_ended));
        over.expires_after(1h);
        co_await asio::post(executor, asio::use_awaitable);
        cancel.emit(cancellation_type::total);
        co_await over.async_wait(asio::as_tuple(asio::use_awaitable));
        CHECK(first == error_code(asio::error::operation_aborted));
        CHECK(second == error_code(asio::error::operation_aborted));
        static_cast<void>(co_await std::move(again.value()).release());
        static_cast<void>(co_await c.close());
    };
    run_test(test_limit, body);
    expect_clean(server(), {"/cancel"});
}

TEST_CASE("a signal that is emitted on a strand of its own, while a pool of threads works")
{
    asio::thread_pool pool(4);
    client c(pool, options_for(server().address()));
    mutex lock(c, "/cancel");
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
    for (const auto& one : all) {
        auto granted = one->granted.get_future();
        REQUIRE(granted.wait_for(120s) == std::future_status::ready);
    }
    CHECK(lock.acquire(60s, asio::use_future).get());
    c.close(asio::use_future).get();
    pool.join();
    expect_clean(server(), {"/cancel"});
}
