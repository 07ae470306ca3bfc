// SPDX-License-Identifier: Apache-2.0
// Work that is done as long as the lock is held: run() acquires, calls the body, and releases. The body is cancelled
// when the lock is lost, and here also when the program is told to end (Ctrl-C, or SIGTERM): between two steps.
//
//     run_until_signal [SERVERS]
#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <zklock/zklock.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <variant>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

asio::awaitable<int> program(zklock::client zk)
{
    const auto executor = co_await asio::this_coro::executor;
    asio::signal_set signals(executor, SIGINT, SIGTERM);
    zklock::mutex lock(zk, "/examples/run");

    auto work = [](zklock::guard& held) -> asio::awaitable<zklock::result<int>> {
        // Being told to stop shall not throw at the next co_await, as it would otherwise.
        co_await asio::this_coro::throw_if_cancelled(false);
        std::cout << "at work, with token " << held.fencing_token() << std::endl;
        asio::steady_timer next(co_await asio::this_coro::executor);
        for (int steps = 1;; ++steps) {
            // … one step of the work, and then a pause, in which a cancellation is heard
            next.expires_after(100ms);
            static_cast<void>(co_await next.async_wait(asio::as_tuple(asio::use_awaitable)));
            // It is told once, to what is awaited just then, which may have ended well: so ask.
            const auto told = co_await asio::this_coro::cancellation_state;
            if (told.cancelled() != asio::cancellation_type::none) {
                std::cout << "stopped between two steps" << std::endl;
                co_return steps;
            }
        }
    };

    // Whichever ends first cancels the other, and both have ended after this. While it waits for the lock, a run that
    // is cancelled leaves the queue at once.
    auto ended = co_await (lock.run(work) || signals.async_wait(asio::use_awaitable));
    int status = 0;
    if (ended.index() == 1) {
        std::cout << "signal " << std::get<1>(ended) << std::endl;
    } else if (const zklock::result<int> done = std::get<0>(ended)) { // for a body that ends by itself
        std::cout << "done in " << done.value() << " steps" << std::endl;
    } else { // the lock was not to be had, or was lost
        std::cerr << "run: " << done.error().message() << '\n';
        status = 1;
    }
    static_cast<void>(co_await zk.close());
    co_return status;
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
