// program: adapter
// What outlives what: handles, guards, operations, the execution context.
#include "integration/adapter_scene.hpp"
#include "support/expect_clean.hpp"
#include "support/one_server.hpp"

#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <future>

using namespace zklock::test;

TEST_CASE("the last handle closes: what is pending ends, guards are lost")
{
    asio::io_context io;
    std::optional<client> c(std::in_place, io, options_for(server().address()));
    std::optional<mutex> lock(std::in_place, *c, "/life");
    guard held = hold(io, *lock);
    std::optional<error_code> acquired, lost;
    lock->acquire([&](error_code ec, guard) { acquired = ec; });
    held.wait_lost([&](error_code ec) { lost = ec; });

    c.reset(); // the mutex is a handle, too
    io.restart();
    io.run_for(50ms);
    CHECK_FALSE(acquired);
    CHECK(held);

    auto copy = *lock;
    lock.reset();
    io.restart();
    io.run_for(50ms);
    CHECK_FALSE(acquired);
    CHECK(copy.path() == "/life");
    {
        auto last = std::move(copy);
    }
    run_dry(io);
    CHECK(acquired == make_error_code(errc::closed));
    CHECK(lost == error_code());
    CHECK_FALSE(held);

    // Of what is left: an operation each.
    std::optional<error_code> released;
    lost.reset();
    held.wait_lost([&](error_code ec) { lost = ec; });
    std::move(held).release([&](error_code ec) { released = ec; });
    run_dry(io);
    CHECK(lost == error_code());
    CHECK(released == make_error_code(errc::lost));
    expect_clean(server(), {"/life"});
}

TEST_CASE("a lazy release that is kept, and a wait for the loss that begins after it")
{
    asio::io_context io;
    client c(io, options_for(server().address()));
    mutex lock(c, "/life");
    guard held = hold(io, lock);
    std::vector<std::string> order;
    auto note = [&](std::string what) {
        return asio::bind_executor(io.get_executor(),
                                   [&order, what](error_code ec) { order.push_back(what + ec.message()); });
    };
    const auto waiting = held.wait_lost(asio::deferred);
    const auto releasing = std::move(held).release(asio::deferred);
    CHECK(held);
    releasing(note("release: "));
    CHECK_FALSE(held);
    CHECK(held.node().empty());
    waiting(note("lost: "));
    releasing(note("again: "));
    run_until(io, [&] { return order.size() == 3; });
    std::ranges::sort(order); // each has ended; the release takes a round trip more than the others
    const auto aborted = error_code(asio::error::operation_aborted).message();
    CHECK(order == std::vector<std::string>{"again: " + make_error_code(errc::not_owner).message(), "lost: " + aborted,
                                            "release: " + error_code().message()});
    expect_clean(server(), {"/life"});
}

TEST_CASE("a guard of another client is not lost with ours: a downgrade leaves it as it is")
{
    asio::io_context io;
    client theirs(io, options_for(server().address()));
    mutex lock(theirs, "/life");
    guard held = hold(io, lock);
    const std::string node = held.node();
    std::optional<shared_mutex> ours;
    {
        asio::io_context gone;
        client c(gone, options_for(server().address()));
        ours.emplace(c, "/life");
    }
    std::promise<error_code> ended;
    ours->downgrade(std::move(held), [&](error_code ec, const guard& none) {
        CHECK(none.node().empty());
        ended.set_value(ec);
    });
    CHECK(ended.get_future().get() == errc::not_owner);
    CHECK(held);
    CHECK(held.node() == node);
    std::optional<error_code> released;
    std::move(held).release([&](error_code ec) { released = ec; });
    run_until(io, [&] { return released.has_value(); });
    CHECK(released == error_code());
    expect_clean(server(), {"/life"});
}

TEST_CASE("the context goes first: handlers are destroyed uncalled, what is left is inert")
{
    const auto sentinel = std::make_shared<int>();
    int called = 0;
    auto never = [&called, sentinel](auto&&...) { ++called; };
    guard held;
    std::optional<client> c;
    std::optional<mutex> lock;
    auto later = [&] { return lock->acquire(asio::deferred); };
    std::optional<decltype(later())> deferred;

    std::optional<client> nowhere;
    using granting = std::future<void>;
    auto ready = [](granting& g, auto limit) { return g.wait_for(limit) == std::future_status::ready; };
    auto fill = [&](const asio::any_io_executor& executor, const std::function<void(granting&)>& wait_for) {
        std::promise<void> granted;
        auto grant = granted.get_future();
        c.emplace(executor, options_for(server().address()));
        lock.emplace(*c, "/life");
        lock->acquire(60s, [&](error_code, guard g) {
            held = std::move(g);
            granted.set_value();
        });
        wait_for(grant);
        lock->acquire(never);
        lock->acquire([never, other = mutex(*lock), inner = guard()](auto&&...) mutable { never(); }); // owns a handle
        held.wait_lost(never);
        nowhere.emplace(executor, options_for("127.0.0.1:1"));
        nowhere->wait_connected(1h, never);
        mutex(*nowhere, "/life").contenders(never);
        deferred.emplace(later());
        asio::co_spawn(
            executor,
            [](mutex m, auto n) -> asio::awaitable<void> {
                auto body = [](guard&) -> asio::awaitable<void> { co_return; };
                static_cast<void>(co_await m.run(body));
                n();
            }(*lock, never),
            asio::detached);
    };
    SUBCASE("an io_context") {
        asio::io_context io;
        fill(io.get_executor(), [&](granting& g) { run_until(io, [&] { return ready(g, 0s); }); });
        io.restart();
        SUBCASE("at once") {
        }
        SUBCASE("after a few steps")
            io.poll();
        SUBCASE("while it closes") {
            io.poll();
            c->close(never);
            io.poll_one();
        }
    }
    SUBCASE("a strand of the user's own") {
        asio::io_context io;
        fill(asio::make_strand(io), [&](granting& g) { run_until(io, [&] { return ready(g, 0s); }); });
        io.restart();
        io.poll();
    }
    SUBCASE("a pool") {
        asio::thread_pool pool(1);
        fill(pool.get_executor(), [&](granting& g) { REQUIRE(ready(g, 60s)); });
        pool.stop();
        pool.join();
    }
    CHECK_FALSE(held);
    CHECK(held.fencing_token() > 0); // what was, still was
    CHECK(held.node().starts_with("/life/"));
    CHECK(held.held_until() < lease_clock::now());
    CHECK(c->state() == connection_state::closed);
    CHECK(c->session_id() == 0);
    CHECK(called == 0);
    CHECK(sentinel.use_count() == 2); // here, and in `never`

    CHECK(held.get_executor() == asio::any_io_executor(asio::system_executor()));
    held.wait_lost(asio::use_future).get(); // lost
    CHECK(std::move(held).release(as_result(asio::use_future)).get().error() == errc::lost);
    const auto late = lock->acquire(as_result(asio::use_future)).get();
    CHECK(late.error() == errc::closed);
    const auto later_still = std::move(*deferred)(as_result(asio::use_future)).get();
    CHECK(later_still.error() == errc::closed);
    CHECK(lock->contenders(as_result(asio::use_future)).get().error() == errc::closed);
    CHECK(c->wait_connected(1h, as_result(asio::use_future)).get().error() == errc::closed);
    CHECK(c->close(as_result(asio::use_future)).get());
    deferred.reset();
    lock.reset();
    c.reset();
    CHECK(called == 0);
    expect_clean(server(), {"/life"}, 60s);
}
