// Bodies that take something else than what is held. The message of each says what they are called with.
#include <zklock/zklock.hpp>

#include <boost/asio.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> wrong(zklock::mutex lock, zklock::semaphore gate, zklock::multi_lock both, zklock::election chair)
{
    auto of_permits = [](zklock::permits&) -> asio::awaitable<void> { co_return; };
    auto of_several = [](zklock::multi_guard&) -> asio::awaitable<void> { co_return; };
    co_await lock.run(5s, of_permits);
    co_await gate.permits_of(2).run(of_several);
    co_await both.run(of_permits);
    co_await chair.lead(of_several);
}

// Whatever is held is a guard.
asio::awaitable<void> right(zklock::semaphore gate, zklock::multi_lock both, zklock::election chair)
{
    auto of_a_guard = [](zklock::guard&) -> asio::awaitable<void> { co_return; };
    static_cast<void>(co_await gate.permits_of(2).run(of_a_guard));
    static_cast<void>(co_await both.run(of_a_guard));
    static_cast<void>(co_await chair.lead(of_a_guard));
}
