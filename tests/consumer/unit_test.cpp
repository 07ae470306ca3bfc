// A user's unit test, on an ensemble in memory.
#include <zklock/testing/ensemble.hpp>
#include <zklock/zklock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

asio::awaitable<void> sell(zklock::client zk, int& sold)
{
    zklock::mutex lock(zk, "/shop/stock");
    if (auto held = co_await lock.acquire(5s))
        ++sold;
    static_cast<void>(co_await zk.close());
}

} // namespace

int main()
{
    zklock::testing::ensemble zookeeper;
    zklock::client_options options;
    options.servers = zookeeper.servers();
    asio::io_context io;
    int sold = 0;
    asio::co_spawn(io, sell(zklock::client(io, options), sold), asio::detached);
    io.run();
    return sold == 1 && zookeeper.children("/shop/stock").empty() ? 0 : 1;
}
