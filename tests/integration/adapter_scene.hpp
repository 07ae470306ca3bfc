#pragma once
// What the tests of the adapter have in common: a context that the test runs by hand.
#include "support/polling.hpp"
#include "zklock/zklock.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <utility>

namespace zklock::test {

namespace asio = boost::asio;

inline client_options options_for(const std::string& servers)
{
    client_options options;
    options.servers = servers;
    return options;
}

inline void run_until(asio::io_context& io, const std::function<bool()>& holds)
{
    const auto deadline = steady_clock::now() + 60s;
    while (!holds() && steady_clock::now() < deadline) {
        io.restart();
        io.run_one_for(10ms);
    }
    REQUIRE(holds());
}

inline void run_dry(asio::io_context& io)
{
    io.restart();
    io.run_for(60s);
    REQUIRE(io.stopped());
}

inline guard hold(asio::io_context& io, mutex& lock)
{
    guard held;
    lock.acquire(60s, [&](error_code ec, guard g) {
        CHECK_FALSE(ec);
        held = std::move(g);
    });
    run_until(io, [&] { return static_cast<bool>(held); });
    return held;
}

} // namespace zklock::test
