#pragma once
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

namespace zklock::tool {

/// Makes a context that is never destroyed: its end would wait for those of its threads that look up a name, and a name
/// server that does not answer keeps them for minutes. So the process has to end by end_process().
[[nodiscard]] boost::asio::io_context& make_context();

/// Runs a program on a context until it returns, and no longer. Gives the exit status, `failed` if it has thrown; it is
/// said why.
int run_program(boost::asio::io_context& io, boost::asio::awaitable<int> program);

/// Ends the process at once, beside all threads; what is to go to stdout goes there before.
[[noreturn]] void end_process(int status);

} // namespace zklock::tool
