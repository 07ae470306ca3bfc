// program: adapter
// mutex::run: acquire, body, release, whatever the body does and whatever happens meanwhile.
#include "support/expect_clean.hpp"
#include "support/one_server.hpp"
#include "support/options_for.hpp"
#include "support/proxy.hpp"
#include "support/run_test.hpp"
#include "zklock/zklock.hpp"

#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>

using namespace zklock;
using namespace zklock::test;

namespace {

client_options short_ticks_for(const std::string& servers, milliseconds session_timeout = 30'000ms)
{
    auto options = options_for(servers, session_timeout);
    options.server_tick = usual_tick;
    return options;
}

asio::awaitable<bool> is_free(mutex lock)
{
    result<guard> g = co_await lock.acquire(60s);
    if (!g)
        co_return false;
    result<void> released = co_await std::move(g.value()).release();
    co_return released.has_value();
}

} // namespace

TEST_CASE("what the body gives is what run gives, and the lock is free afterwards")
{
    const std::string address = server().address(); // it starts on this thread
    auto test = [&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client c(executor, short_ticks_for(address));
        mutex lock(c, "/run");

        auto sum = [&](guard& held) -> asio::awaitable<result<std::string>> {
            CHECK(held);
            result<guard> busy = co_await lock.try_acquire();
            CHECK(busy.error() == errc::busy);
            co_return held.node();
        };
        result<std::string> node = co_await lock.run(60s, sum);
        REQUIRE(node);
        CHECK(node.value().starts_with("/run/"));
        CHECK(co_await is_free(lock));

        bool ran = false;
        auto nothing = [&, owned = std::make_shared<int>(1)](guard&) -> asio::awaitable<void> {
            ran = *owned == 1;
            co_return;
        };
        result<void> done = co_await lock.run(nothing);
        CHECK(done);
        CHECK(ran);

        auto only_once = [owned = std::make_unique<int>(7)](guard&) -> asio::awaitable<result<int>> {
            co_return *owned;
        };
        result<int> seven = co_await lock.run(std::ref(only_once));
        REQUIRE(seven);
        CHECK(seven.value() == 7);

        auto fails = [](guard&) -> asio::awaitable<result<int>> { co_return error_code(asio::error::eof); };
        result<int> failed = co_await lock.run(fails);
        CHECK(failed.error() == asio::error::eof);
        CHECK(co_await is_free(lock));

        auto throws = [](guard&) -> asio::awaitable<result<int>> {
            throw std::runtime_error("body");
            co_return 0;
        };
        std::string what;
        try {
            result<int> none = co_await lock.run(60s, throws);
            static_cast<void>(none);
        } catch (const std::runtime_error& e) {
            what = e.what();
        }
        CHECK(what == "body");
        result<guard> free = co_await lock.try_acquire(); // released before the exception came through
        REQUIRE(free);

        ran = false;
        result<void> late = co_await lock.run(0s, nothing);
        CHECK(late.error() == errc::timed_out);
        late = co_await lock.run(30ms, nothing);
        CHECK(late.error() == errc::timed_out);
        CHECK_FALSE(ran);
        free.value() = guard();

        mutex invalid(c, "run/");
        result<void> bad = co_await invalid.run(nothing);
        CHECK(bad.error() == errc::invalid_path);
        CHECK_FALSE(ran);
        static_cast<void>(co_await c.close());
    };
    SUBCASE("one thread")
        run_test(test_limit, test);
    SUBCASE("two threads")
        run_test_on_threads(2, test_limit, test);
    expect_clean(server(), {"/run"});
}

TEST_CASE("cancelled: while it waits for the lock, and while the body runs")
{
    auto test = [&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client c(executor, short_ticks_for(server().address()));
        mutex lock(c, "/run");
        result<guard> first = co_await lock.acquire(60s);
        REQUIRE(first);

        asio::cancellation_signal cancel;
        asio::steady_timer event(executor, 24h);
        std::optional<error_code> outcome, seen_by_body;
        bool in_body = false;
        auto body = [&](guard&) -> asio::awaitable<result<int>> {
            in_body = true;
            event.cancel();
            seen_by_body = co_await sleep_for_ever();
            co_return *seen_by_body;
        };
        auto runner = [&]() -> asio::awaitable<void> {
            result<int> r = co_await lock.run(body);
            outcome = r.has_error() ? r.error() : error_code();
        };
        auto spawn = [&] {
            asio::co_spawn(executor, runner(),
                           asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr) { event.cancel(); }));
        };

        spawn();
        for (std::size_t queued = 0; queued < 2;)
            queued = (co_await lock.contenders()).value().size();
        cancel.emit(asio::cancellation_type::terminal);
        co_await event.async_wait(asio::as_tuple(asio::use_awaitable));
        CHECK(outcome == error_code(asio::error::operation_aborted));
        CHECK_FALSE(in_body);
        first.value() = guard();

        outcome.reset();
        event.expires_after(24h);
        spawn();
        co_await event.async_wait(asio::as_tuple(asio::use_awaitable));
        REQUIRE(in_body);
        CHECK_FALSE(outcome);
        event.expires_after(24h);
        cancel.emit(asio::cancellation_type::terminal);
        co_await event.async_wait(asio::as_tuple(asio::use_awaitable));
        CHECK(seen_by_body == error_code(asio::error::operation_aborted));
        CHECK(outcome == error_code(asio::error::operation_aborted));
        CHECK(co_await is_free(lock));

        // What the body has given back by itself is not lost.
        const auto run_cancelled = [&](auto running) -> asio::awaitable<void> {
            outcome.reset();
            event.expires_after(24h);
            auto to_end = [&]() -> asio::awaitable<void> {
                result<int> r = co_await std::move(running);
                outcome = r.has_error() ? r.error() : error_code();
            };
            asio::co_spawn(executor, to_end(),
                           asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr) { event.cancel(); }));
            co_await event.async_wait(asio::as_tuple(asio::use_awaitable));
            event.expires_after(24h);
            cancel.emit(asio::cancellation_type::terminal);
            co_await event.async_wait(asio::as_tuple(asio::use_awaitable));
        };
        auto releases = [&](auto& held) -> asio::awaitable<result<int>> {
            result<void> released = co_await std::move(held).release();
            CHECK(released);
            event.cancel();
            seen_by_body = co_await sleep_for_ever();
            co_return 42;
        };
        co_await run_cancelled(lock.run(releases));
        CHECK(outcome == error_code());
        multi_lock one(std::vector<lockable>{lock});
        co_await run_cancelled(one.run(releases));
        CHECK(outcome == error_code());
        semaphore gate(c, "/gate", 2);
        auto releases_each = [&](permits& held) -> asio::awaitable<result<int>> {
            co_await held.release(1, asio::use_awaitable);
            co_await held.release(1, asio::use_awaitable);
            event.cancel();
            seen_by_body = co_await sleep_for_ever();
            co_return 42;
        };
        co_await run_cancelled(gate.permits_of(2).run(releases_each));
        CHECK(outcome == error_code());
        static_cast<void>(co_await c.close());
    };
    run_test(test_limit, test);
    expect_clean(server(), {"/run"});
}

TEST_CASE("lost: the body is cancelled, and lost outranks whatever it gave")
{
    proxy between(server().port());
    auto test = [&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client c(executor, short_ticks_for(between.address(), 5000ms));
        mutex lock(c, "/run");
        result<void> connected = co_await c.wait_connected(60s);
        REQUIRE(connected);

        // The network goes away: lost by the lease, before the server can give the lock away.
        std::optional<error_code> seen;
        auto waits = [&](guard& held) -> asio::awaitable<result<int>> {
            between.block();
            between.refuse();
            seen = co_await sleep_for_ever();
            CHECK_FALSE(held);
            co_return 1;
        };
        result<int> lost = co_await lock.run(waits);
        CHECK(lost.error() == errc::lost);
        CHECK(seen == error_code(asio::error::operation_aborted));
        between.accept();
        between.unblock();
        between.cut();
        CHECK(co_await is_free(lock));

        // One that throws because it was cancelled: the reason counts, not the exception.
        auto throws = [&](guard&) -> asio::awaitable<void> {
            asio::steady_timer timer(co_await asio::this_coro::executor, 24h);
            between.expire_session(c.session_id());
            co_await timer.async_wait(asio::use_awaitable);
        };
        result<void> expired = co_await lock.run(throws);
        CHECK(expired.error() == errc::lost);

        // One that ends otherwise keeps its exception.
        bool passed = false;
        auto own_error = [&](guard&) -> asio::awaitable<void> {
            between.expire_session(c.session_id());
            static_cast<void>(co_await sleep_for_ever());
            throw std::runtime_error("mine");
        };
        try {
            result<void> none = co_await lock.run(60s, own_error);
            static_cast<void>(none);
        } catch (const std::runtime_error&) {
            passed = true;
        }
        CHECK(passed);

        // The client is closed under it.
        auto closes = [&](guard& held) -> asio::awaitable<void> {
            c.close(asio::detached);
            result<void> gone = co_await held.wait_lost(as_result(asio::deferred))(
                asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
            CHECK(gone);
        };
        result<void> closed = co_await lock.run(60s, closes);
        CHECK(closed.error() == errc::lost);
        result<void> after = co_await lock.run(60s, closes);
        CHECK(after.error() == errc::closed);
    };
    SUBCASE("one thread")
        run_test(test_limit, test);
    SUBCASE("three threads")
        run_test_on_threads(3, test_limit, test);
    expect_clean(server(), {"/run"});
}
