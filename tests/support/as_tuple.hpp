#pragma once
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace zklock::test {

/// For coroutines that look at the error code themselves.
inline constexpr auto as_tuple = boost::asio::as_tuple(boost::asio::use_awaitable);

} // namespace zklock::test
