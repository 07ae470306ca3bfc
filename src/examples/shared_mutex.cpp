// SPDX-License-Identifier: Apache-2.0
// A shared mutex: any number of readers, or one writer. A writer can become a reader without letting another writer in.
//
//     shared_mutex [SERVERS]
#include <boost/asio.hpp>
#include <zklock/zklock.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<bool> read(zklock::shared_mutex book)
{
    auto first = co_await book.shared().acquire(5s);
    if (!first) {
        std::cerr << "no lock: " << first.error().message() << '\n';
        co_return false;
    }
    auto second = co_await book.shared().acquire(5s); // each acquire is a reader of its own
    if (!second)
        co_return false;
    std::cout << "two readers at once\n";

    auto writer = co_await book.try_acquire();
    if (!writer && writer.error() == zklock::errc::busy)
        std::cout << "no writer beside them\n";

    // A reader cannot become a writer: two who try would wait for each other for ever.
    const auto upgraded = co_await book.upgrade(first.value());
    if (!upgraded && upgraded.error() == zklock::errc::not_upgradable)
        std::cout << "a reader stays a reader\n";
    co_return true; // both are given back in the background
}

asio::awaitable<bool> write(zklock::shared_mutex book)
{
    auto writer = co_await book.acquire(5s); // waits for the two above
    if (!writer) {
        std::cerr << "no lock: " << writer.error().message() << '\n';
        co_return false;
    }
    std::cout << "a writer, alone\n";
    const std::int64_t token = writer.value().fencing_token();

    // Now it only reads what it has written; others may read, too, and nobody has written in between.
    auto reader = co_await book.downgrade(std::move(writer).value());
    if (!reader)
        co_return false;
    auto other = co_await book.shared().try_acquire();
    if (other && reader.value().fencing_token() == token)
        std::cout << "a reader with the writer's token, and another reader\n";
    co_return other.has_value();
}

asio::awaitable<int> program(zklock::client zk)
{
    zklock::shared_mutex book(zk, "/examples/shared_mutex");
    const bool well = co_await read(book) && co_await write(book);
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
