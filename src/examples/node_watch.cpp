// SPDX-License-Identifier: Apache-2.0
// Waiting for nodes: a program follows its configuration, which is a node in ZooKeeper. No change is missed, neither
// between a read and the wait nor while there is no connection; several in a row may be told as one.
//
//     node_watch [SERVERS]            and beside it:   zkCli.sh create /examples-config blue
#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <zklock/zklock.hpp>

#include <csignal>
#include <exception>
#include <iostream>
#include <string>
#include <variant>

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;

// As long as the node is there; ends when it is gone.
asio::awaitable<zklock::error_code> follow(zklock::client zk, std::string path)
{
    for (;;) {
        const auto read = co_await zk.get(path);
        if (!read)
            co_return read.error();
        std::cout << "configured: " << read.value().data << std::endl;
        // What was read is said; the wait ends when the node is something else, or is so already.
        const auto changed = co_await zk.wait_changed(path, read.value().stat);
        if (!changed)
            co_return changed.error();
        if (!changed.value())
            co_return zklock::errc::no_node;
    }
}

asio::awaitable<zklock::error_code> follow_for_ever(zklock::client zk, std::string path)
{
    for (;;) {
        std::cout << "waiting for " << path << std::endl;
        const auto created = co_await zk.wait_created(path);
        if (!created)
            co_return created.error();
        const auto ended = co_await follow(zk, path);
        if (ended != zklock::errc::no_node)
            co_return ended;
    }
}

asio::awaitable<int> program(zklock::client zk)
{
    asio::signal_set signals(co_await asio::this_coro::executor, SIGINT, SIGTERM);
    // A wait has no limit in time, and is cancelled like any operation: by a timer in this place, for example.
    const auto ended = co_await (follow_for_ever(zk, "/examples-config") || signals.async_wait(asio::use_awaitable));
    if (ended.index() == 0)
        std::cerr << "not followed any more: " << std::get<0>(ended).message() << '\n';
    static_cast<void>(co_await zk.close());
    co_return ended.index() == 0 ? 1 : 0;
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
