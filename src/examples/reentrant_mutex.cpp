// SPDX-License-Identifier: Apache-2.0
// A re-entrant mutex: functions that each take the lock may call each other. Who holds it is an object, not a thread:
// all who act for one owner are given a copy of it.
//
//     reentrant_mutex [SERVERS]
#include <boost/asio.hpp>
#include <zklock/zklock.hpp>

#include <chrono>
#include <exception>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// Takes the lock, whoever calls it.
asio::awaitable<bool> book(zklock::reentrant_mutex accounts, zklock::lock_owner me, int account, int amount)
{
    auto held = co_await accounts.owned_by(me).acquire(5s); // at once and without a request, if we have it
    if (!held)
        co_return false;
    std::cout << "account " << account << ": " << amount << ", held " << accounts.hold_count(me) << " times\n";
    co_return true;
}

// Takes it, too, so that nobody comes between its two bookings.
asio::awaitable<bool> transfer(zklock::reentrant_mutex accounts, zklock::lock_owner me)
{
    auto held = co_await accounts.owned_by(me).acquire(5s);
    if (!held) {
        std::cerr << "no lock: " << held.error().message() << '\n';
        co_return false;
    }
    if (!co_await book(accounts, me, 1, -100) || !co_await book(accounts, me, 2, +100))
        co_return false;

    // Another owner, of this program or of another, waits for it as for any lock.
    const zklock::lock_owner other;
    auto busy = co_await accounts.owned_by(other).try_acquire();
    if (!busy && busy.error() == zklock::errc::busy)
        std::cout << "another owner finds it busy\n";

    const auto released = co_await accounts.release(me, held.value());
    if (!released)
        std::cerr << "not held to the end: " << released.error().message() << '\n';
    else
        std::cout << "held " << accounts.hold_count(me) << " times\n";
    co_return released.has_value();
}

asio::awaitable<int> program(zklock::client zk)
{
    const zklock::lock_owner me; // a new owner, who is a stranger to all others
    const bool well = co_await transfer(zklock::reentrant_mutex(zk, "/examples/reentrant_mutex"), me);
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
