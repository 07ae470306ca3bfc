// Locks that would be given back before the next line: none of these compiles. What is right does.
#include <zklock/zklock.hpp>

#include <boost/asio.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> wrong(zklock::mutex lock, zklock::semaphore gate, zklock::multi_lock both)
{
    if (co_await lock.acquire(5s)) co_return; // refused
    if (!co_await lock.acquire(5s)) co_return; // refused
    if ((co_await lock.acquire()).has_value()) co_return; // refused
    if ((co_await lock.try_acquire()).has_error()) co_return; // refused
    if ((co_await lock.acquire()).has_failure()) co_return; // refused
    if (co_await lock.acquire(asio::use_awaitable)) co_return; // refused
    if (!co_await gate.permits_of(2).acquire()) co_return; // refused
    if (!co_await gate.permits_of(2).acquire(asio::use_awaitable)) co_return; // refused
    if (!co_await both.acquire()) co_return; // refused
    if (!co_await both.acquire(asio::use_awaitable)) co_return; // refused
}

asio::awaitable<void> wrong_details(zklock::mutex lock, zklock::semaphore gate, zklock::multi_lock both)
{
    if ((co_await lock.acquire(5s)).error() == zklock::errc::timed_out) co_return; // refused
    auto why = (co_await lock.try_acquire()).assume_error(); // refused
    auto token = (co_await lock.acquire(5s)).value().fencing_token(); // refused
    const auto& node = (co_await lock.acquire(5s)).value().node(); // refused
    auto until = (co_await lock.acquire(asio::use_awaitable)).held_until(); // refused
    auto loss = (co_await lock.acquire(asio::use_awaitable)).loss(); // refused
    auto few = (co_await gate.permits_of(2).try_acquire()).error(); // refused
    auto count = (co_await gate.permits_of(2).acquire()).value().count(); // refused
    auto first = (co_await gate.permits_of(2).acquire()).value().node(); // refused
    auto whose = (co_await gate.permits_of(2).acquire()).value().fencing_token(); // refused
    auto permitted = (co_await gate.permits_of(2).acquire(asio::use_awaitable)).held_until(); // refused
    auto withdrawn = (co_await gate.permits_of(2).acquire(asio::use_awaitable)).loss(); // refused
    for (auto& each : (co_await both.acquire(5s)).value().locks()) co_return; // refused
    auto together = (co_await both.acquire(5s)).value().held_until(); // refused
    auto apart = (co_await both.acquire(5s)).value().loss(); // refused
}

void wrong_leader(zklock::leadership& term)
{
    if (std::move(term)) return; // refused
    auto token = std::move(term).fencing_token(); // refused
    auto node = std::move(term).node(); // refused
    auto until = std::move(term).held_until(); // refused
    auto loss = std::move(term).loss(); // refused
}

asio::awaitable<void> wrong_too(zklock::shared_mutex book, zklock::reentrant_mutex again, zklock::lock_owner me)
{
    if (!co_await book.acquire()) co_return; // refused
    if (!co_await book.try_acquire()) co_return; // refused
    if (!co_await book.shared().acquire(5s)) co_return; // refused
    if (co_await book.shared().acquire(asio::use_awaitable)) co_return; // refused
    if ((co_await book.shared().try_acquire()).has_value()) co_return; // refused
    if (!co_await again.owned_by(me).acquire()) co_return; // refused
    if (!co_await again.owned_by(me).acquire(5s, asio::use_awaitable)) co_return; // refused
    if ((co_await again.owned_by(me).try_acquire()).has_error()) co_return; // refused
}

asio::awaitable<zklock::result<zklock::guard>> hand_on(zklock::mutex lock)
{
    co_return co_await lock.acquire(5s);
}

asio::awaitable<zklock::acquired<zklock::guard>> forward(zklock::mutex lock)
{
    return lock.acquire(5s);
}

asio::awaitable<void> right(zklock::mutex lock, zklock::semaphore gate, zklock::shared_mutex book,
                            zklock::reentrant_mutex again, zklock::lock_owner me)
{
    if (auto held = co_await lock.acquire(5s))
        static_cast<void>(held.value().fencing_token());
    auto held = co_await lock.acquire(5s);
    if (!held || !held.value())
        co_return;
    zklock::result<zklock::guard> plain = co_await lock.acquire(5s);
    const auto tried = co_await lock.try_acquire();
    const zklock::error_code why = tried ? zklock::error_code() : tried.error();
    zklock::guard taken = (co_await lock.acquire()).value();
    auto [ec, bare] = co_await lock.acquire(5s, asio::as_tuple(asio::use_awaitable));
    auto later = lock.acquire(asio::use_future);
    auto permits = co_await gate.permits_of(2).acquire();
    auto reader = co_await book.shared().acquire();
    auto inner = co_await again.owned_by(me).acquire(5s);
    auto failed = co_await lock.acquire();
    if (failed.has_failure() || permits.has_error() || why || ec || !bare || !plain || !taken || !reader || !inner)
        co_return;
}
