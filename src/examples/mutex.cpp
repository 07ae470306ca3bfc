// SPDX-License-Identifier: Apache-2.0
// A mutex: one program at a time does the work. Start it twice at once, and one waits for the other.
//
//     mutex [SERVERS]
#include <boost/asio.hpp>
#include <zklock/zklock.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<int> work(zklock::mutex lock)
{
    // What an acquire gives needs a name: the lock is held as long as that lives.
    auto held = co_await lock.acquire(5s);
    if (!held) {
        std::cerr << "no lock: " << held.error().message() << '\n';
        if (const auto why = lock.last_timeout())
            std::cerr << to_string(*why) << '\n'; // who holds it, or why there is no connection
        co_return 1;
    }
    zklock::guard mine = std::move(held).value();
    std::cout << lock.path() << " is held, with token " << mine.fencing_token() << '\n';

    // Each acquire is a contender of its own: another one here would wait for this one. So it only tries.
    auto second = co_await lock.try_acquire();
    if (!second && second.error() == zklock::errc::busy)
        std::cout << "a second acquire finds it busy\n";

    const auto queue = co_await lock.contenders();
    if (queue)
        std::cout << "in the queue: " << queue.value().size() << '\n';

    const auto released = co_await std::move(mine).release();
    if (!released) { // the lock was lost: others may have had it since
        std::cerr << "not held to the end: " << released.error().message() << '\n';
        co_return 1;
    }
    std::cout << "released\n";
    co_return 0;
}

asio::awaitable<int> program(zklock::client zk)
{
    const int status = co_await work(zklock::mutex(zk, "/examples/mutex"));
    static_cast<void>(co_await zk.close()); // ends the session; io.run() returns after that
    co_return status;
}

int main(int count, char** arguments)
try {
    asio::io_context io;
    zklock::client_options options;
    if (count > 1)
        options.servers = arguments[1]; // such as zk1:2181,zk2:2181,zk3:2181
    auto status = asio::co_spawn(io, program(zklock::client(io, options)), asio::use_future);
    io.run();
    return status.get();
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
