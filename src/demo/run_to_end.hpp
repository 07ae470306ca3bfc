#pragma once
#include <boost/asio/awaitable.hpp>

#include <string>

namespace demo {

/// Runs a program on this thread, and what it leaves to be done. Gives its exit status: what it returns, or 1 if it
/// throws, which is told on stderr after its name.
int run_to_end(boost::asio::awaitable<int> program, const std::string& name);

} // namespace demo
