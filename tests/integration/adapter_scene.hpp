#pragma once
// What tests have in common that run a context by hand, as those of the adapter do.
#include "support/options_for.hpp"
#include "support/run_until.hpp"
#include "zklock/zklock.hpp"

namespace zklock::test {

namespace asio = boost::asio;

inline void run_dry(asio::io_context& io)
{
    io.restart();
    io.run_for(60s);
    REQUIRE(io.stopped());
}

template <class Held = guard, class Lock> Held hold(asio::io_context& io, Lock lock)
{
    Held held;
    lock.acquire(60s, [&](error_code ec, Held g) {
        CHECK_FALSE(ec);
        held = std::move(g);
    });
    run_until(io, [&] { return static_cast<bool>(held); });
    return held;
}

} // namespace zklock::test
