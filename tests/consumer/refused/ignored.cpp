// Results that nobody looks at: of each, clang warns; g++ 12 and 14 do only where co_await is missing, because they do
// not look at what it gives. Nobody is warned of what is right.
#include <zklock/zklock.hpp>

#include <boost/asio.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> unlooked(zklock::mutex lock, zklock::semaphore gate, zklock::multi_lock both)
{
    co_await lock.acquire(5s); // warned by clang
    co_await lock.try_acquire(); // warned by clang
    co_await lock.acquire(5s, asio::use_awaitable); // warned by clang
    co_await gate.permits_of(2).acquire(); // warned by clang
    co_await both.acquire(); // warned by clang
}

asio::awaitable<void> unlooked_too(zklock::shared_mutex book, zklock::reentrant_mutex again, zklock::lock_owner me)
{
    co_await book.acquire(); // warned by clang
    co_await book.shared().acquire(5s); // warned by clang
    co_await book.shared().try_acquire(); // warned by clang
    co_await again.owned_by(me).acquire(); // warned by clang
}

asio::awaitable<void> ignored(zklock::mutex lock, zklock::guard held, zklock::permits some, zklock::client zk)
{
    zklock::transaction t;
    t.set("/stock", "1");
    co_await held.commit(t); // warned by clang
    co_await std::move(held).release(); // warned by clang
    co_await std::move(some).release(); // warned by clang
    auto body = [](zklock::guard&) -> asio::awaitable<void> { co_return; };
    co_await lock.run(5s, body); // warned by clang
    co_await zk.set("/stock", "2"); // warned by clang
    co_await zk.close(); // warned by clang
}

asio::awaitable<void> never_awaited(zklock::mutex lock, zklock::guard held)
{
    lock.acquire(5s); // warned
    std::move(held).release(); // warned
    co_return;
}

asio::awaitable<void> right(zklock::mutex lock, zklock::semaphore gate)
{
    auto held = co_await lock.acquire(5s);
    if (!held)
        co_return;
    static_cast<void>(co_await std::move(held).value().release());
    auto some = co_await gate.permits_of(2).acquire();
    if (!some)
        co_return;
    auto released = co_await std::move(some).value().release();
    if (!released)
        co_return;
    lock.acquire(5s, [](zklock::error_code, zklock::guard) {});
}
