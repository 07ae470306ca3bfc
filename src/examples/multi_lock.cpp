// Several locks as one: a transfer between two accounts takes the locks of both, or none. They are taken in the order
// of their paths, whatever order they are given in; so transfers in opposite directions never wait for each other in a
// circle. The balances are nodes in ZooKeeper.
//
//     multi_lock [SERVERS]
#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <zklock/zklock.hpp>

#include <chrono>
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
asio::awaitable<void> pay(zklock::client zk, std::string from, std::string to, int amount)
{
    for (int i = 0; i < 20; ++i) {
        const auto paid = co_await transfer(zk, from, to, amount);
        if (!paid)
            throw boost::system::system_error(paid.error());
    }
}

asio::awaitable<void> open_account(zklock::client zk, std::string name)
{
    const auto made = co_await zk.create(accounts + name, "100");
    if (!made && made.error() != zklock::errc::node_exists)
        throw boost::system::system_error(made.error());
}

asio::awaitable<int> program(zklock::client zk)
{
    co_await open_account(zk, "ann");
    co_await open_account(zk, "ben");
    co_await (pay(zk, "ann", "ben", 3) && pay(zk, "ben", "ann", 2));

    const auto ann = co_await zk.get(accounts + "ann");
    const auto ben = co_await zk.get(accounts + "ben");
    if (ann && ben)
        std::cout << "ann has " << ann.value().data << ", ben has " << ben.value().data << '\n';
    static_cast<void>(co_await zk.close());
    co_return ann && ben ? 0 : 1;
}

int main(int count, char** arguments)
{
    asio::io_context io;
    zklock::client_options options;
    if (count > 1)
        options.servers = arguments[1];
    auto status = asio::co_spawn(io, program(zklock::client(io, options)), asio::use_future);
    io.run();
    return status.get();
}
