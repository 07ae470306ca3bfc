// sanitizers: address
// program: adapter
// Every completion token: that it compiles, and that what it gives is right.
#include "support/admin_client.hpp"
#include "support/expect_clean.hpp"
#include "support/four_letter_words.hpp"
#include "support/one_server.hpp"
#include "support/options_for.hpp"
#include "support/run_test.hpp"
#include "zklock/zklock.hpp"

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/outcome/try.hpp>

#include <future>
#include <thread>

using namespace zklock;
using namespace zklock::test;
using namespace asio::experimental::awaitable_operators;

namespace {

asio::awaitable<result<std::int64_t>> token_of_one_turn(mutex lock)
{
    BOOST_OUTCOME_CO_TRY(auto held, co_await lock.acquire(60s));
    const auto token = held.fencing_token();
    BOOST_OUTCOME_CO_TRYV(co_await std::move(held).release());
    co_return token;
}

} // namespace

TEST_CASE("tokens for coroutines")
{
    auto body = [&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client c(executor, options_for(server().address()));
        result<void> connected = co_await c.wait_connected(60s);
        REQUIRE(connected);
        result<void> still_connected = co_await c.wait_connected();
        CHECK(still_connected);
        co_await c.wait_connected(asio::use_awaitable);
        mutex lock(c, "/tokens/coroutines");

        SUBCASE("none: a result") {
            result<guard> held = co_await lock.acquire();
            REQUIRE(held);
            CHECK(held.value());
            CHECK(held.value().node().starts_with("/tokens/coroutines/"));
            CHECK(held.value().fencing_token() > 0);
            result<guard> busy = co_await lock.try_acquire();
            CHECK(busy.error() == errc::busy);
            result<std::vector<contender>> queue = co_await lock.contenders();
            REQUIRE(queue);
            REQUIRE(queue.value().size() == 1);
            CHECK(queue.value()[0].node == held.value().node());
            CHECK(queue.value()[0].ours);
            result<void> released = co_await std::move(held.value()).release();
            CHECK(released);
            result<std::int64_t> token = co_await token_of_one_turn(lock);
            CHECK(token);
        }
        SUBCASE("use_awaitable: a value, or an exception") {
            guard held = co_await lock.acquire(60s, asio::use_awaitable);
            CHECK(held);
            try {
                guard second = co_await lock.try_acquire(asio::use_awaitable);
                FAIL("granted twice");
            } catch (const boost::system::system_error& e) {
                CHECK(e.code() == errc::busy);
            }
            co_await std::move(held).release(asio::use_awaitable);
        }
        SUBCASE("as_tuple") {
            auto [ec, held] = co_await lock.acquire(60s, asio::as_tuple(asio::use_awaitable));
            CHECK_FALSE(ec);
            auto [busy, none] = co_await lock.acquire(0s, asio::as_tuple(asio::use_awaitable));
            CHECK(busy == errc::timed_out);
            CHECK_FALSE(none);
            auto [released] = co_await std::move(held).release(asio::as_tuple(asio::use_awaitable));
            CHECK_FALSE(released);
        }
        SUBCASE("redirect_error") {
            error_code ec = asio::error::not_found;
            guard held = co_await lock.acquire(asio::redirect_error(asio::use_awaitable, ec));
            CHECK_FALSE(ec);
            guard none = co_await lock.try_acquire(asio::redirect_error(asio::use_awaitable, ec));
            CHECK(ec == errc::busy);
            CHECK_FALSE(none);
            co_await std::move(held).release(asio::redirect_error(asio::use_awaitable, ec));
            CHECK_FALSE(ec);
        }
        SUBCASE("deferred, awaited, adapted, started by a callback, or dropped") {
            auto later = lock.acquire(60s, asio::deferred);
            guard held = co_await std::move(later)(asio::use_awaitable);
            CHECK(held);
            co_await std::move(held).release(asio::deferred)(asio::use_awaitable);

            auto adapted = lock.acquire(60s, as_result(asio::deferred));
            result<guard> again = co_await std::move(adapted)(asio::use_awaitable);
            REQUIRE(again);
            {
                auto dropped = std::move(again.value()).release(asio::deferred);
            } // never started: the guard keeps the lock
            CHECK(again.value());
            again.value() = guard();
            result<guard> third = co_await lock.acquire(60s);
            REQUIRE(third);
            static_cast<void>(co_await std::move(third.value()).release());
        }
        SUBCASE("|| cancels the slower") {
            result<guard> held = co_await lock.acquire();
            REQUIRE(held);
            asio::steady_timer timer(executor, 50ms);
            auto waited = co_await (lock.acquire(asio::use_awaitable) || timer.async_wait(asio::use_awaitable));
            CHECK(waited.index() == 1);
            timer.expires_after(1h);
            held.value() = guard();
            auto granted = co_await (lock.acquire(asio::use_awaitable) || timer.async_wait(asio::use_awaitable));
            REQUIRE(granted.index() == 0);
            static_cast<void>(co_await std::move(std::get<0>(granted)).release());
        }
        SUBCASE("&& waits for both") {
            mutex other(c, "/tokens/other");
            auto [one, two] = co_await (lock.acquire(asio::use_awaitable) && other.acquire(asio::use_awaitable));
            CHECK(one);
            CHECK(two);
        }
        SUBCASE("bound executor and allocator") {
            auto strand = asio::make_strand(executor);
            guard held = co_await lock.acquire(
                asio::bind_executor(strand, asio::bind_allocator(std::allocator<char>(), asio::use_awaitable)));
            CHECK(held);
        }
        SUBCASE("as_result, bound from inside and from outside") {
            auto strand = asio::make_strand(executor);
            auto outside = asio::bind_executor(strand, as_result(asio::use_awaitable));
            result<guard> held = co_await lock.acquire(60s, outside);
            CHECK(held);
            asio::cancellation_signal never;
            auto cancellable = asio::bind_cancellation_slot(never.slot(), as_result(asio::use_awaitable));
            result<guard> busy = co_await lock.acquire(1ms, cancellable);
            CHECK(busy.error() == errc::timed_out);
            auto inside = as_result(asio::bind_allocator(std::allocator<char>(), asio::use_awaitable));
            result<void> released = co_await std::move(held.value()).release(inside);
            CHECK(released);
        }
        SUBCASE("as_result as a constant") {
            static constexpr auto constant = as_result(asio::use_awaitable);
            result<guard> held = co_await lock.acquire(60s, constant);
            REQUIRE(held);
            const auto lazy = as_result(asio::deferred);
            result<guard> busy = co_await lock.try_acquire(lazy)(asio::use_awaitable);
            CHECK(busy.error() == errc::busy);
            bool released = false;
            const auto callback = as_result([&](result<void> r) { released = r.has_value(); });
            std::move(held.value()).release(callback);
            result<guard> again = co_await lock.acquire(60s, constant);
            CHECK(again);
            co_await std::move(again.value()).release(asio::use_awaitable);
            CHECK(released);
        }
        SUBCASE("a limit in time, with the default token") {
            asio::steady_timer timer(executor, 60s);
            auto read = co_await (c.get("/") || timer.async_wait(asio::use_awaitable));
            REQUIRE(read.index() == 0);
            CHECK(std::get<0>(read));
        }
        SUBCASE("as_result of Asio's own operations") {
            using timer_type = default_token::as_default_on_t<asio::steady_timer>;
            timer_type timer(executor, 1ms);
            result<void> waited = co_await timer.async_wait();
            CHECK(waited);
        }
        result<void> closed = co_await c.close();
        CHECK(closed);
    };
    run_test(test_limit, body);
    expect_clean(server(), {"/tokens/coroutines", "/tokens/other"});
}

TEST_CASE("coroutines of another executor type")
{
    using executor_type = asio::io_context::executor_type;
    asio::io_context context;
    client c(context, options_for(server().address()));
    bool done = false;
    auto body = [&]() -> asio::awaitable<void, executor_type> {
        as_result_t<asio::use_awaitable_t<executor_type>> token;
        mutex lock(c, "/tokens/typed");
        result<guard> held = co_await lock.acquire(60s, token);
        REQUIRE(held);
        result<void> released = co_await std::move(held.value()).release(token);
        CHECK(released);
        co_await c.close(asio::use_awaitable_t<executor_type>());
        done = true;
    };
    asio::co_spawn(context.get_executor(), body(), asio::detached);
    context.run_for(60s);
    CHECK(done);
    expect_clean(server(), {"/tokens/typed"});
}

TEST_CASE("tokens for callbacks, groups and futures")
{
    asio::io_context context;
    client c(context, options_for(server().address()));
    mutex lock(c, "/tokens/callbacks");
    const auto deadline = steady_clock::now() + 60s;

    SUBCASE("a callback") {
        std::optional<guard> held;
        lock.acquire(60s, [&](error_code ec, guard g) {
            CHECK_FALSE(ec);
            held.emplace(std::move(g));
            std::move(*held).release([&](error_code released) {
                CHECK_FALSE(released);
                c.close([&](error_code closed) { CHECK_FALSE(closed); });
            });
        });
        context.run_until(deadline);
        CHECK(held);
    }
    SUBCASE("a callback that cannot be copied, of results") {
        bool called = false;
        lock.acquire(60s, as_result([&, only = std::make_unique<int>(1)](result<guard> held) {
                         REQUIRE(held);
                         called = *only == 1;
                         c.close(as_result([](result<void> closed) { CHECK(closed); }));
                     }));
        context.run_until(deadline);
        CHECK(called);
    }
    SUBCASE("a bound cancellation slot") {
        asio::cancellation_signal cancel;
        std::optional<error_code> lost;
        lock.acquire([&](error_code, guard held) {
            held.wait_lost(asio::bind_cancellation_slot(cancel.slot(), [&](error_code ec) {
                lost = ec;
                c.close(asio::detached);
            }));
            cancel.emit(asio::cancellation_type::partial);
        });
        context.run_until(deadline);
        CHECK(lost == error_code(asio::error::operation_aborted));
    }
    SUBCASE("detached") {
        lock.acquire(asio::detached); // granted to nobody, and given back
        lock.acquire(60s, [&](error_code ec, guard) {
            CHECK_FALSE(ec);
            c.close(asio::detached);
        });
        context.run_until(deadline);
    }
    SUBCASE("a group that takes the first success") {
        mutex other(c, "/tokens/other");
        using asio::experimental::make_parallel_group;
        bool completed = false;
        // The second waits for the first, or the other way round: one is granted, the other withdrawn.
        make_parallel_group(lock.acquire(asio::deferred), lock.acquire(asio::deferred))
            .async_wait(asio::experimental::wait_for_one_success(),
                        [&](std::array<std::size_t, 2> order, error_code e0, guard g0, error_code e1, guard g1) {
                            completed = true;
                            CHECK_FALSE((order[0] == 0 ? e0 : e1));
                            CHECK((order[0] == 0 ? e1 : e0) == asio::error::operation_aborted);
                            CHECK((order[0] == 0 ? g0 : g1));
                            c.close(asio::detached);
                        });
        context.run_until(deadline);
        CHECK(completed);
    }
    SUBCASE("use_future, from another thread") {
        std::thread thread([&] { context.run_until(deadline); });
        c.wait_connected(asio::use_future).get();
        guard held = lock.acquire(60s, asio::use_future).get();
        CHECK(held);
        CHECK_THROWS_AS(static_cast<void>(lock.try_acquire(asio::use_future).get()), boost::system::system_error);
        std::future<std::vector<contender>> queue = lock.contenders(asio::use_future);
        CHECK(queue.get().size() == 1);
        std::future<result<void>> released = std::move(held).release(as_result(asio::use_future));
        CHECK(released.get());
        CHECK_FALSE(held);
        c.close(asio::use_future).get();
        thread.join();
    }
    CHECK(c.state() == connection_state::closed);
    expect_clean(server(), {"/tokens/callbacks"});
}

TEST_CASE("tokens of a wait for a node")
{
    admin_client admin(server().port());
    asio::io_context context;
    auto work = asio::make_work_guard(context);
    client c(context, options_for(server().address()));
    std::thread thread([&] { context.run(); });
    // Once it waits, and has found nothing.
    const auto create = [&](const std::string& path) {
        wait_until("it is watched", default_limit, [&] { return watch_count(server().port()) == 1; });
        admin.create(path);
        return admin.exists(path)->czxid;
    };

    std::future<node_stat> future = c.wait_created("/future", asio::use_future);
    const auto of_future = create("/future");
    CHECK(future.get().czxid == of_future);
    std::future<result<node_stat>> of_results = c.wait_created("/future", as_result(asio::use_future));
    CHECK(of_results.get().value().czxid == of_future);
    future = c.wait_created("no/path", asio::use_future);
    CHECK_THROWS_AS(static_cast<void>(future.get()), boost::system::system_error);

    std::promise<node_stat> called;
    c.wait_created("/callback", [&](error_code ec, node_stat found) {
        CHECK_FALSE(ec);
        called.set_value(found);
    });
    const auto of_callback = create("/callback");
    CHECK(called.get_future().get().czxid == of_callback);

    auto deferred = c.wait_created("/deferred", asio::deferred);
    {
        auto never_started = c.wait_created("/never", asio::deferred);
    }
    future = std::move(deferred)(asio::use_future);
    const auto of_deferred = create("/deferred");
    CHECK(future.get().czxid == of_deferred);

    asio::cancellation_signal cancel;
    std::promise<error_code> cancelled;
    const auto ended = [&](error_code ec, const node_stat&) { cancelled.set_value(ec); };
    c.wait_created("/never", asio::bind_cancellation_slot(cancel.slot(), ended));
    asio::post(c.get_executor(), [&] { cancel.emit(asio::cancellation_type::total); });
    CHECK(cancelled.get_future().get() == asio::error::operation_aborted);

    const auto awaits = [&]() -> asio::awaitable<void> {
        result<node_stat> found = co_await c.wait_created("/awaited");
        REQUIRE(found);
        const auto [ec, again] = co_await c.wait_created("/awaited", asio::as_tuple(asio::use_awaitable));
        CHECK_FALSE(ec);
        CHECK(again.czxid == found.value().czxid);
    };
    std::future<void> awaited = asio::co_spawn(context, awaits(), asio::use_future);
    create("/awaited");
    awaited.get();

    asio::steady_timer timer(context, 1ms);
    const auto late = [&]() -> asio::awaitable<void> {
        auto waited = co_await (c.wait_created("/limited") || timer.async_wait(asio::use_awaitable));
        CHECK(waited.index() == 1);
        timer.expires_after(1ms);
        auto value =
            co_await (c.wait_created("/limited", asio::use_awaitable) || timer.async_wait(asio::use_awaitable));
        CHECK(value.index() == 1);
    };
    asio::co_spawn(context, late(), asio::use_future).get();
    timer.expires_after(1h);
    const auto in_time = [&]() -> asio::awaitable<void> {
        auto waited = co_await (c.wait_created("/limited") || timer.async_wait(asio::use_awaitable));
        REQUIRE(waited.index() == 0);
        CHECK(std::get<0>(waited).value().czxid != 0);
    };
    awaited = asio::co_spawn(context, in_time(), asio::use_future);
    create("/limited");
    awaited.get();

    c.close(asio::use_future).get();
    work.reset();
    thread.join();
    expect_clean(server());
}

TEST_CASE("timeouts of every kind of duration saturate")
{
    using zklock::detail::saturate;
    CHECK(saturate(1.5s) == 1500ms);
    CHECK(saturate(std::chrono::duration<double>(-1.0)) == 0ns);
    CHECK(saturate(std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN())) == 0ns);
    CHECK(saturate(std::chrono::duration<double>(std::numeric_limits<double>::infinity())) ==
          lease_clock::duration::max());
    CHECK(saturate(std::chrono::hours::max()) == lease_clock::duration::max());
    CHECK(saturate(std::chrono::hours::min()) == 0ns);
    CHECK(saturate(std::chrono::duration<std::uint64_t, std::pico>(1)) == 1ns);
    CHECK(saturate(lease_clock::duration::max()) == lease_clock::duration::max());
}
