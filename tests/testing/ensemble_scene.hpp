#pragma once
// What the tests of zklock::testing have in common.
#include "support/run_test.hpp"

#include <boost/asio/detached.hpp>
#include <doctest/doctest.h>
#include <zklock/testing/ensemble.hpp>
#include <zklock/zklock.hpp>

namespace zklock::test {

using namespace zklock; // so that who uses this one has the library, too
using boost::asio::awaitable;
using testing::ensemble;

inline constexpr auto limit = milliseconds(60'000); // a sanitizer on a busy machine

inline client_options options_for(const ensemble& zookeeper, milliseconds session_timeout = milliseconds(10'000))
{
    client_options o;
    o.servers = zookeeper.servers();
    o.session_timeout = session_timeout;
    return o;
}

/// How an operation has failed.
template <class Result> error_code ended_with(const Result& r)
{
    return r ? error_code() : r.error();
}

/// What an acquire ends with that waits for so long, by the clock of the test.
template <class Lock> awaitable<error_code> acquire_in_vain(ensemble& zookeeper, Lock lock, milliseconds time = 5s)
{
    std::optional<error_code> ended;
    const auto acquires = [&]() -> awaitable<void> { ended = ended_with(co_await lock.acquire(time)); };
    asio::co_spawn(co_await asio::this_coro::executor, acquires(), asio::detached);
    REQUIRE(co_await zookeeper.pass(time + 1s));
    co_return ended.value();
}

/// Runs the body with an ensemble and a client that is connected, and looks afterwards that nothing is left.
template <class Body> void with_client(Body body)
{
    ensemble zookeeper;
    const auto all = [&]() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor, options_for(zookeeper));
        REQUIRE(co_await zk.wait_connected(10s));
        co_await body(zookeeper, zk);
        REQUIRE(co_await zk.close());
    };
    run_test(limit, all);
    CHECK(zookeeper.sessions().empty());
}

} // namespace zklock::test
