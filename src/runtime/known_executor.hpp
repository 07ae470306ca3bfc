#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include <variant>

namespace zklock::runtime {

using io_executor = boost::asio::io_context::executor_type;
using pool_executor = boost::asio::thread_pool::executor_type;

/// An executor with its own type, where that is one of Asio's own: then a function that is posted there waits in the
/// memory that it is given. With the type erased, it takes two pieces of its own, and a dozen indirect calls.
using known_executor = std::variant<boost::asio::any_io_executor, io_executor, pool_executor>;

[[nodiscard]] inline known_executor known(const boost::asio::any_io_executor& e)
{
    if (const auto* const io = e.target<io_executor>())
        return *io;
    if (const auto* const pool = e.target<pool_executor>())
        return *pool;
    return e;
}

} // namespace zklock::runtime
