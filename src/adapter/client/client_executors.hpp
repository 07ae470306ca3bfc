#pragma once
#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution/allocator.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/require.hpp>

#include <optional>
#include <type_traits>
#include <utility>

namespace zklock::detail {

namespace asio = boost::asio;

// A function that goes through an executor with its type erased takes two pieces of memory and a dozen indirect calls.
// So an `io_context`'s own executor, which is what nearly every client has, is also kept as what it is.
using io_executor = asio::io_context::executor_type;

/// The user's executor in the forms that are needed of it. They are made once, because each takes memory.
struct client_executors {
    explicit client_executors(const asio::any_io_executor& e) : executor(e), for_handlers(e)
    {
        if (const auto* const its_own = executor.target<io_executor>())
            io = *its_own;
    }

    asio::any_io_executor executor;
    asio::any_completion_executor for_handlers; ///< to be compared with what handlers are associated with
    std::optional<io_executor> io;
};

/// Work of the user's executor, as long as this is there, and the way to post there.
class client_work {
public:
    client_work() = default;

    /// Begins the work. Is called once.
    void begin(const client_executors& of)
    {
        if (of.io)
            io_.emplace(asio::prefer(*of.io, asio::execution::outstanding_work.tracked));
        else
            other_ = asio::prefer(of.executor, asio::execution::outstanding_work.tracked);
    }

    /// Posts what has no executor of its own; on an `io_context` it waits in that memory. (asio::post() would look for
    /// an executor of what has an allocator, and move it four times.) Must not be called unless it has begun.
    template <class Function, class Allocator> void post_in(const Allocator& memory, Function&& f) const
    {
        if (io_) // what is posted is work of its own
            asio::prefer(asio::require(io_->context().get_executor(), asio::execution::blocking.never),
                         asio::execution::allocator(memory))
                .execute(std::forward<Function>(f));
        else
            asio::post(other_, std::forward<Function>(f));
    }

private:
    using io_work =
        std::decay_t<decltype(asio::prefer(std::declval<io_executor>(), asio::execution::outstanding_work.tracked))>;
    std::optional<io_work> io_;
    asio::any_io_executor other_; ///< if it is not an io_context's
};

} // namespace zklock::detail
