// SPDX-License-Identifier: Apache-2.0
// A thread pool: four threads run the client and eight workers, which share the client. Each worker has a lock object
// of its own, with a report of its own when the time is up. They count in a file, one after the other; start the
// program twice at once on one file, and nothing is counted twice.
//
//     thread_pool SERVERS FILE
#include <boost/asio.hpp>
#include <zklock/zklock.hpp>

#include <chrono>
#include <exception>
#include <fstream>
#include <future>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// To read, and later to write what was read: without the lock, others would write in between.
void count_one_more(const std::string& file)
{
    int number = 0;
    std::ifstream(file) >> number;
    std::ofstream(file) << number + 1 << '\n';
}

asio::awaitable<void> count(zklock::mutex lock, std::string file, int times)
{
    for (int i = 0; i < times; ++i) {
        auto held = co_await lock.acquire(60s);
        if (!held)
            throw boost::system::system_error(held.error());
        count_one_more(file);
        zklock::guard mine = std::move(held).value();
        const auto released = co_await std::move(mine).release();
        if (!released)
            throw boost::system::system_error(released.error());
    }
}

int main(int argument_count, char** arguments)
try {
    if (argument_count != 3) {
        std::cerr << "usage: thread_pool SERVERS FILE\n";
        return 2;
    }
    asio::thread_pool pool(4);
    zklock::client_options options;
    options.servers = arguments[1];
    zklock::client zk(pool, options);

    constexpr int workers = 8, times = 25;
    std::vector<std::future<void>> counting;
    for (int i = 0; i < workers; ++i) {
        zklock::mutex own(zk, "/examples/thread_pool");
        counting.push_back(asio::co_spawn(pool, count(own, arguments[2], times), asio::use_future));
    }
    for (auto& worker : counting)
        worker.get(); // by this thread, which is none of the pool's
    std::cout << workers * times << " times\n";
    zk.close(asio::use_future).get();
    pool.join();
    return 0;
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
