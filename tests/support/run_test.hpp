#pragma once
#include "support/polling.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <functional>
#include <source_location>

namespace zklock::test {

/// The one way in which coroutines are tested: runs what `body` returns on an io_context and this thread, then the
/// context until nothing is left to do. Rethrows what the coroutine threw. Throws with the caller's place when the
/// limit passes, whether the coroutine had not ended or something stayed pending behind it.
///
/// Pass a named lambda: gcc 12 destroys some temporaries twice around co_await.
void run_test(milliseconds limit, const std::function<boost::asio::awaitable<void>()>& body,
              std::source_location where = std::source_location::current());

/// The same on a context that `threads` threads run.
void run_test_on_threads(std::size_t threads, milliseconds limit,
                         const std::function<boost::asio::awaitable<void>()>& body,
                         std::source_location where = std::source_location::current());

} // namespace zklock::test
