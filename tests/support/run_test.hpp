#pragma once
#include "support/polling.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>

#include <cstddef>
#include <source_location>

namespace zklock::test {

/// The one way in which coroutines are tested: runs what `body` returns on an io_context and this thread, then the
/// context until nothing is left to do. Rethrows what the coroutine threw. Throws with the caller's place when the
/// limit passes, whether the coroutine had not ended or something stayed pending behind it.
///
/// Pass a lambda that has a name: see src/README.md on gcc 12.
void run_test(milliseconds limit, const std::function<boost::asio::awaitable<void>()>& body,
              std::source_location where = std::source_location::current());

/// The same of what takes the executor.
void run_test(milliseconds limit,
              const std::function<boost::asio::awaitable<void>(const boost::asio::any_io_executor&)>& body,
              std::source_location where = std::source_location::current());

/// The same on a context that `threads` threads run.
void run_test_on_threads(std::size_t threads, milliseconds limit,
                         const std::function<boost::asio::awaitable<void>()>& body,
                         std::source_location where = std::source_location::current());

/// Never ends by itself; says how it was ended. Whoever is cancelled in it may go on as long as it waits for nothing
/// else.
inline boost::asio::awaitable<boost::system::error_code> sleep_for_ever()
{
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, std::chrono::hours(24));
    const auto [ec] = co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    co_return ec;
}

} // namespace zklock::test
