#pragma once
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

namespace zklock::tool {

/// Runs a subcommand on this thread, and what it leaves to be done. Gives the status that it returns, or `failed` if it
/// throws, after it was said why.
int run_program(boost::asio::io_context& io, boost::asio::awaitable<int> program);

} // namespace zklock::tool
