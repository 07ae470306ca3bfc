// sanitizers: none
// How often an acquire and its release ask for memory.
#include "integration/memory_scene.hpp"
#include "support/expect_clean.hpp"
#include "support/one_server.hpp"

#include <algorithm>
#include <limits>
#include <string>

using namespace zklock;
using namespace zklock::test;

namespace {

/// Allocations of a cycle, by callbacks on one thread, when path and client are warm: the fewest of many cycles, as
/// heartbeats and looks at the node come in between.
long allocations_of_a_cycle(asio::io_context& io, mutex& lock)
{
    constexpr long plenty = 1'000'000;
    long fewest = std::numeric_limits<long>::max();
    for (int cycle = 0; cycle < 200; ++cycle) {
        bool over = false;
        const short_of_memory counted(plenty);
        lock.acquire([&](error_code ec, guard held) {
            CHECK_FALSE(ec);
            std::move(held).release([&](error_code) { over = true; });
        });
        while (!over) {
            io.restart();
            io.run_one();
        }
        fewest = std::min(fewest, plenty - allocations_left);
    }
    return fewest;
}

} // namespace

TEST_CASE("an acquire and its release take so many allocations, whatever is counted of them")
{
    asio::io_context io;
    client c(io, options_for(server().address()));
    mutex_options options;
    options.metrics_name = "a name that is too long to be kept without memory";
    mutex unnamed(c, "/memory"), named(c, "/memory", options);
    guard first = take(io, unnamed);
    first = guard();
    const long without_name = allocations_of_a_cycle(io, unnamed);
    const long with_name = allocations_of_a_cycle(io, named);
    CHECK(without_name <= 19); // with libstdc++ 12 and Boost 1.81
    CHECK(with_name == without_name);
    CHECK(c.metrics().all.acquired == 401);
    close(io, c);
    expect_clean(server(), {"/memory"});
}
