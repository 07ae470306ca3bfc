// SPDX-License-Identifier: Apache-2.0
// Guarded writes: what is kept in ZooKeeper itself is written by commit(), which the servers do only if the lock is
// still held, and as a whole. No pause of this program, and no slow network, can make it write after the next holder.
//
//     transaction [SERVERS]
#include <boost/asio.hpp>
#include <boost/outcome/try.hpp>
#include <zklock/zklock.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;
const std::string stock = "/examples-stock", orders = "/examples-orders";

// One unit less, and an order with a number of its own: both, or neither.
asio::awaitable<zklock::error_code> sell(zklock::client zk, zklock::guard& held, std::string buyer)
{
    const auto read = co_await zk.get(stock);
    if (!read)
        co_return read.error();
    zklock::transaction sale;
    sale.set(stock, std::to_string(std::stoi(read.value().data) - 1), read.value().stat.version);
    sale.create(orders + "/order-", buyer, zklock::node_kind::persistent_sequential);
    const auto [why, done] = co_await held.commit(sale, asio::as_tuple(asio::use_awaitable));
    if (!why)
        std::cout << buyer << " has ordered: " << done.results.back().path << '\n';
    else if (done.failed)
        std::cout << buyer << ": operation " << *done.failed << " was refused\n";
    co_return why; // errc::outcome_unknown: it may have been done; a read shows it. It is never repeated
}

asio::awaitable<zklock::result<void>> make(zklock::client zk, std::string path, std::string data)
{
    const auto made = co_await zk.create(path, data);
    if (!made && made.error() != zklock::errc::node_exists)
        co_return made.error();
    co_return boost::outcome_v2::success();
}

asio::awaitable<zklock::result<void>> work(zklock::client zk)
{
    BOOST_OUTCOME_CO_TRYV(co_await make(zk, stock, "10")); // an error is returned
    BOOST_OUTCOME_CO_TRYV(co_await make(zk, orders, ""));
    zklock::mutex lock(zk, "/examples/transaction");
    BOOST_OUTCOME_CO_TRY(zklock::guard held, co_await lock.acquire(5s));
    const auto ann = co_await sell(zk, held, "Ann");
    if (ann)
        co_return ann;

    // Somebody deletes the lock's node by hand; the next one in the queue would have the lock now.
    static_cast<void>(co_await zk.remove(held.node()));
    const auto ben = co_await sell(zk, held, "Ben");
    if (ben && ben != zklock::errc::lost)
        co_return ben;
    if (ben)
        std::cout << "the lock is lost, and nothing was written for Ben\n";

    BOOST_OUTCOME_CO_TRY(const auto left, co_await zk.get(stock));
    std::cout << "in stock: " << left.data << '\n';
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
