// Boost.Cobalt's tokens serve as Asio's do. Compiled where its headers are (tests/packages/try).
#include <boost/cobalt.hpp>
#include <zklock/zklock.hpp>

#include <chrono>
#include <type_traits>

namespace cobalt = boost::cobalt;
using namespace std::chrono_literals;

cobalt::task<bool> sell(zklock::client zk)
{
    co_await zk.wait_connected(5s, cobalt::use_op); // throws for an error
    zklock::mutex lock(zk, "/shop/stock");
    auto held = co_await lock.acquire(5s, cobalt::use_op);
    static_assert(std::is_same_v<decltype(held), zklock::guard>);
    co_await std::move(held).release(cobalt::use_op);
    auto again = co_await lock.acquire(5s, zklock::as_result(cobalt::use_op));
    co_return again.has_value();
}
