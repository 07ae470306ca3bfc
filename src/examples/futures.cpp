// SPDX-License-Identifier: Apache-2.0
// Futures: for programs that block. A thread of its own runs the client; the others wait for futures, which throw
// boost::system::system_error.
//
//     futures [SERVERS]
#include <boost/asio.hpp>
#include <zklock/zklock.hpp>

#include <chrono>
#include <exception>
#include <future>
#include <iostream>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

void work(zklock::client zk)
{
    // Both are asked for at once; whoever takes several locks that others take, too, should use a multi_lock.
    zklock::mutex stock(zk, "/examples/futures/stock");
    zklock::mutex report(zk, "/examples/futures/report");
    std::future<zklock::guard> first = stock.acquire(5s, asio::use_future);
    std::future<zklock::guard> second = report.acquire(5s, asio::use_future);
    zklock::guard stock_held = first.get(); // throws if it was not to be had in five seconds
    zklock::guard report_held = second.get();
    std::cout << "two locks are held: " << stock.path() << ", " << report.path() << '\n';

    try {
        const zklock::guard again = stock.try_acquire(asio::use_future).get();
        std::cout << "which cannot be: " << again.node() << '\n';
    } catch (const boost::system::system_error& e) {
        if (e.code() != zklock::errc::busy)
            throw;
        std::cout << "a third acquire finds the first busy\n";
    }

    std::move(report_held).release(asio::use_future).get(); // throws if the lock was lost meanwhile
    std::move(stock_held).release(asio::use_future).get();
    std::cout << "released\n";
}

int main(int count, char** arguments)
try {
    // Its thread runs the client. That thread must not wait for a future itself: nobody would be left to complete it.
    asio::thread_pool pool(1);
    zklock::client_options options;
    if (count > 1)
        options.servers = arguments[1];
    zklock::client zk(pool, options);
    work(zk);
    zk.close(asio::use_future).get();
    pool.join();
    return 0;
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
