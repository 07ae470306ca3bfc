// SPDX-License-Identifier: Apache-2.0
// A semaphore: no more than so many permits are in use at once, by all programs together.
//
//     semaphore [SERVERS]
#include <boost/asio.hpp>
#include <zklock/zklock.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<bool> work(zklock::semaphore gate)
{
    // All or none: it never holds one of two while it waits for the other.
    auto held = co_await gate.permits_of(2).acquire(5s);
    if (!held) {
        std::cerr << "no permits: " << held.error().message() << '\n';
        co_return false;
    }
    zklock::permits mine = std::move(held).value();
    std::cout << "of three permits we hold " << mine.count() << '\n';

    auto more = co_await gate.permits_of(2).try_acquire();
    if (!more && more.error() == zklock::errc::busy)
        std::cout << "two more are not to be had\n";

    const auto one = co_await mine.release(1); // the other one is still held
    if (!one)
        co_return false;
    auto now = co_await gate.permits_of(2).try_acquire();
    if (!now)
        co_return false;
    std::cout << "one is given back, and two more are ours: " << gate.permits_held() << " of three\n";

    // A part of what one holds can be handed to somebody else, who gives it back.
    auto part = co_await now.value().split(1);
    if (!part)
        co_return false;
    const auto part_back = co_await std::move(part).value().release();
    const auto holders = co_await gate.holders();
    if (part_back && holders)
        std::cout << "in use, by anybody: " << holders.value().size() << '\n';
    co_return (part_back && holders); // the others are given back in the background
}

asio::awaitable<int> program(zklock::client zk)
{
    const bool well = co_await work(zklock::semaphore(zk, "/examples/semaphore", 3));
    static_cast<void>(co_await zk.close());
    co_return well ? 0 : 1;
}

int main(int count, char** arguments)
try {
    asio::io_context io;
    zklock::client_options options;
    if (count > 1)
        options.servers = arguments[1];
    auto status = asio::co_spawn(io, program(zklock::client(io, options)), asio::use_future);
    io.run();
    return status.get();
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
