// SPDX-License-Identifier: Apache-2.0
// A shared mutex for owners: readers and writers who may take the lock again while they hold it. A writer may read,
// too, and reads on when it has stopped writing. It is Curator's InterProcessReadWriteLock with owners for threads.
//
//     owned_shared_mutex [SERVERS]
#include <boost/asio.hpp>
#include <zklock/zklock.hpp>

#include <chrono>
#include <exception>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

void tell(const char* what, const zklock::owned_shared_mutex& book, zklock::lock_owner me)
{
    std::cout << what << ": writes " << book.hold_count(me) << ", reads " << book.hold_count_shared(me) << '\n';
}

// A function that only reads, and takes the lock for that.
asio::awaitable<bool> total(zklock::owned_shared_mutex book, zklock::lock_owner me)
{
    auto reading = co_await book.shared(me).acquire(5s);
    if (reading)
        tell("in the total", book, me);
    co_return reading.has_value();
}

asio::awaitable<bool> work(zklock::owned_shared_mutex book, zklock::lock_owner me)
{
    auto writing = co_await book.owned_by(me).acquire(5s);
    if (!writing) {
        std::cerr << "no lock: " << writing.error().message() << '\n';
        co_return false;
    }
    tell("a writer", book, me);
    if (!co_await total(book, me)) // the writer calls what takes the lock as a reader: at once
        co_return false;

    auto reading = co_await book.shared(me).acquire();
    if (!reading)
        co_return false;
    const auto released = co_await book.release(me, writing.value());
    if (!released) {
        std::cerr << "not held to the end: " << released.error().message() << '\n';
        co_return false;
    }
    tell("it has stopped writing", book, me);

    const zklock::lock_owner other;
    auto another = co_await book.shared(other).try_acquire();
    if (another)
        std::cout << "another owner reads, too\n";
    auto writer = co_await book.owned_by(other).try_acquire();
    if (!writer && writer.error() == zklock::errc::not_upgradable)
        std::cout << "and cannot write as long as it reads\n";
    co_return another.has_value();
}

asio::awaitable<int> program(zklock::client zk)
{
    const zklock::lock_owner me;
    const bool well = co_await work(zklock::owned_shared_mutex(zk, "/examples/owned_shared_mutex"), me);
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
