#pragma once
#include "support/polling.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

namespace zklock::test {

using namespace zklock; // so that who uses this one has the library, too

/// Runs the context on this thread until that holds. It is asked until then, and no more: it may read.
inline void run_until(boost::asio::io_context& io, const std::function<bool()>& holds)
{
    const auto end = steady_clock::now() + default_limit;
    bool held = holds();
    for (; !held && steady_clock::now() < end; held = holds()) {
        io.restart();
        io.run_one_for(10ms);
    }
    REQUIRE(held);
}

} // namespace zklock::test
