// sanitizers: none
// program: memory
// How often an acquire and its release ask for memory.
#include "integration/memory_scene.hpp"
#include "support/expect_clean.hpp"
#include "support/one_server.hpp"

#include <boost/asio/strand.hpp>

using namespace zklock::test;

namespace {

/// Binds a handler to nothing.
constexpr auto by_itself = [](auto handler) { return handler; };

/// Allocations of a cycle, by callbacks on one thread, when path and client are warm: the fewest of many cycles, as
/// heartbeats and looks at the node come in between. `bound` binds each handler.
template <class Bound> long allocations_of_a_cycle(asio::io_context& io, mutex& lock, Bound bound)
{
    constexpr long plenty = 1'000'000;
    long fewest = std::numeric_limits<long>::max();
    for (int cycle = 0; cycle < 200; ++cycle) {
        bool over = false;
        const short_of_memory counted(plenty);
        lock.acquire(bound([&](error_code ec, guard held) {
            CHECK_FALSE(ec);
            std::move(held).release(bound([&](error_code) { over = true; }));
        }));
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
    const auto options = with(&mutex_options::metrics_name, "a name that is too long to be kept without memory");
    mutex unnamed(c, "/memory"), named(c, "/memory", options);
    guard first = take(io, unnamed);
    first = guard();
    const long without_name = allocations_of_a_cycle(io, unnamed, by_itself);
    const long with_name = allocations_of_a_cycle(io, named, by_itself);
    CHECK(without_name <= 15); // with libstdc++ 12 and Boost 1.81
    CHECK(with_name == without_name);
    CHECK(c.metrics().all.acquired == 401);
    close(io, c);
    expect_clean(server(), {"/memory"});
}

TEST_CASE("a handler that names the client's own executor takes no more allocations than one that names none")
{
    asio::io_context io;
    client c(io, options_for(server().address()));
    mutex lock(c, "/memory");
    guard first = take(io, lock);
    first = guard();
    const long unbound = allocations_of_a_cycle(io, lock, by_itself);
    const auto own = io.get_executor();
    const asio::any_io_executor erased = own;
    const asio::any_io_executor strand = asio::make_strand(own);
    const auto bound_to = [&](const auto& executor) {
        return allocations_of_a_cycle(io, lock, [&](auto h) { return asio::bind_executor(executor, std::move(h)); });
    };
    CHECK(bound_to(own) == unbound);
    CHECK(bound_to(erased) == unbound);
    CHECK(bound_to(strand) > unbound);
    close(io, c);
    expect_clean(server(), {"/memory"});
}
