#pragma once
#include "support/polling.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include <functional>

namespace zklock::test {

/// Runs the context on this thread until that holds.
inline void run_until(boost::asio::io_context& io, const std::function<bool()>& holds)
{
    const auto end = steady_clock::now() + default_limit;
    while (!holds() && steady_clock::now() < end) {
        io.restart();
        io.run_one_for(10ms);
    }
    REQUIRE(holds());
}

} // namespace zklock::test
