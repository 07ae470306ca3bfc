#pragma once
// What the tests of zklock::testing have in common.
#include "support/run_test.hpp"

#include <boost/asio/detached.hpp>
#include <doctest/doctest.h>
#include <zklock/testing/ensemble.hpp>
#include <zklock/zklock.hpp>

namespace zklock::test {

inline constexpr auto limit = milliseconds(60'000); // a sanitizer on a busy machine

inline client_options options_for(const testing::ensemble& zookeeper,
                                  milliseconds session_timeout = milliseconds(10'000))
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

/// What an acquire of five seconds ends with, of which the clock of the test makes none.
inline boost::asio::awaitable<error_code> acquire_in_vain(testing::ensemble& zookeeper, mutex lock)
{
    std::optional<error_code> ended;
    const auto acquires = [&]() -> boost::asio::awaitable<void> { ended = ended_with(co_await lock.acquire(5s)); };
    asio::co_spawn(co_await asio::this_coro::executor, acquires(), asio::detached);
    REQUIRE(co_await zookeeper.pass(6s));
    co_return ended.value();
}

/// Runs the body with an ensemble and a client that is connected, and looks afterwards that nothing is left.
template <class Body> void with_client(Body body)
{
    testing::ensemble zookeeper;
    const auto all = [&]() -> boost::asio::awaitable<void> {
        client zk(co_await asio::this_coro::executor, options_for(zookeeper));
        REQUIRE(co_await zk.wait_connected(10s));
        co_await body(zookeeper, zk);
        REQUIRE(co_await zk.close());
    };
    run_test(limit, all);
    CHECK(zookeeper.sessions().empty());
}

} // namespace zklock::test
