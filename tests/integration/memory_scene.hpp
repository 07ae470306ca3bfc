#pragma once
// What the tests of memory that fails have in common. For one file of a program: see failing_memory.hpp.
#include "support/failing_memory.hpp"
#include "support/options_for.hpp"
#include "support/run_test.hpp"
#include "zklock/zklock.hpp"

#include <doctest/doctest.h>

namespace zklock::test {

using namespace zklock; // so that who uses this one has the library, too

/// Counts, in a place of the test's, and shows whether it is still kept.
struct ending {
    std::shared_ptr<int> calls = std::make_shared<int>(0);

    [[nodiscard]] auto handler() const
    {
        return [calls = calls](const auto&...) { ++*calls; };
    }
    [[nodiscard]] bool is_over() const { return calls.use_count() == 1; }
};

/// Until all of that is over; says how many exceptions came out of the context. After each of its functions, and at
/// least once in a millisecond, `others` is called.
inline int run_past_failures(
    asio::io_context& io, const std::function<bool()>& holds, const std::function<void()>& others = [] {})
{
    int thrown = 0;
    for (const auto deadline = steady_clock::now() + 60s; !holds() && steady_clock::now() < deadline; others()) {
        io.restart();
        try {
            io.run_one_for(1ms);
        } catch (const std::bad_alloc&) {
            ++thrown;
        }
    }
    REQUIRE(holds());
    return thrown;
}

/// Destroys the guard, and runs the context until the so-and-so-manieth allocation since then fails, or all of that is
/// over. False if there were fewer.
inline bool destroy_short_of_memory(guard& held, asio::io_context& io, int number, const std::function<bool()>& over)
{
    const short_of_memory now(number);
    held = guard();
    for (int turn = 0; !short_of_memory::has_struck() && !over() && turn < 500; ++turn) {
        io.restart();
        try {
            io.run_one_for(100ms);
        } catch (const std::bad_alloc&) {
            break;
        }
    }
    return short_of_memory::has_struck();
}

/// Runs the context until the so-and-so-manieth allocation has failed, or this is over. False if there were fewer.
inline bool run_short_of_memory(asio::io_context& io, int number, const ending& e)
{
    const short_of_memory now(number);
    try {
        while (!short_of_memory::has_struck() && !e.is_over()) {
            io.restart();
            io.run_one_for(60s);
        }
    } catch (const std::bad_alloc&) {
        return true;
    }
    return short_of_memory::has_struck();
}

template <class Lock> guard take(asio::io_context& io, Lock& lock)
{
    guard held;
    lock.acquire([&](error_code ec, guard given) {
        CHECK_FALSE(ec);
        held = std::move(given);
    });
    run_past_failures(io, [&] { return static_cast<bool>(held); });
    return held;
}

inline void close(asio::io_context& io, client& c)
{
    const ending closed;
    c.close(closed.handler());
    run_past_failures(io, [&] { return closed.is_over(); });
    CHECK(*closed.calls == 1);
}

} // namespace zklock::test
