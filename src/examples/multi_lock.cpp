// SPDX-License-Identifier: Apache-2.0
// Several locks as one: a transfer between two accounts takes the locks of both, or none. They are taken in the order
// of their paths, whatever order they are given in; so transfers in opposite directions never wait for each other in a
// circle. The balances are nodes in ZooKeeper.
//
//     multi_lock [SERVERS]
#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/outcome/try.hpp>
#include <zklock/zklock.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;
const std::string accounts = "/examples-accounts-";

asio::awaitable<zklock::result<void>> transfer(zklock::client zk, std::string from, std::string to, int amount)
{
    zklock::multi_lock both(zklock::mutex(zk, "/examples/multi_lock/" + from),
                            zklock::mutex(zk, "/examples/multi_lock/" + to));
    auto held = co_await both.acquire(30s); // one limit for both
    if (!held)
        co_return held.error();
    const auto payer = co_await zk.get(accounts + from);
    const auto payee = co_await zk.get(accounts + to);
    if (!payer)
        co_return payer.error();
    if (!payee)
        co_return payee.error();

    // Both writes are done, or none; and only if both locks are still held when the servers execute them.
    zklock::transaction t;
    t.set(accounts + from, std::to_string(std::stoi(payer.value().data) - amount));
    t.set(accounts + to, std::to_string(std::stoi(payee.value().data) + amount));
    const auto done = co_await held.value().commit(t);
    if (!done)
        co_return done.error();
    co_return co_await std::move(held).value().release();
}

// Twenty times from one to the other.
asio::awaitable<zklock::result<void>> pay(zklock::client zk, std::string from, std::string to, int amount)
{
    for (int i = 0; i < 20; ++i) {
        BOOST_OUTCOME_CO_TRYV(co_await transfer(zk, from, to, amount)); // an error is returned
    }
    co_return boost::outcome_v2::success();
}

asio::awaitable<zklock::result<void>> open_account(zklock::client zk, std::string name)
{
    const auto made = co_await zk.create(accounts + name, "100");
    if (!made && made.error() != zklock::errc::node_exists)
        co_return made.error();
    co_return boost::outcome_v2::success();
}

asio::awaitable<zklock::result<void>> work(zklock::client zk)
{
    BOOST_OUTCOME_CO_TRYV(co_await open_account(zk, "ann"));
    BOOST_OUTCOME_CO_TRYV(co_await open_account(zk, "ben"));
    const auto [there, back] = co_await (pay(zk, "ann", "ben", 3) && pay(zk, "ben", "ann", 2));
    BOOST_OUTCOME_CO_TRYV(there);
    BOOST_OUTCOME_CO_TRYV(back);

    BOOST_OUTCOME_CO_TRY(const auto ann, co_await zk.get(accounts + "ann"));
    BOOST_OUTCOME_CO_TRY(const auto ben, co_await zk.get(accounts + "ben"));
    std::cout << "ann has " << ann.data << ", ben has " << ben.data << '\n';
    co_return boost::outcome_v2::success();
}

asio::awaitable<int> program(zklock::client zk)
{
    const auto done = co_await work(zk);
    if (!done)
        std::cerr << done.error().message() << '\n';
    static_cast<void>(co_await zk.close());
    co_return done ? 0 : 1;
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
