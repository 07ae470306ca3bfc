#pragma once
#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>

#include <optional>
#include <utility>
#include <variant>

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
    explicit client_work(const client_executors& of)
    {
        if (of.io)
            at_.emplace<io_work>(asio::prefer(*of.io, asio::execution::outstanding_work.tracked));
        else
            at_.emplace<asio::any_io_executor>(asio::prefer(of.executor, asio::execution::outstanding_work.tracked));
    }

    /// Must not be called if it was made without an executor.
    template <class Function> void post(Function&& f) const
    {
        if (const auto* const io = std::get_if<io_work>(&at_))
            asio::post(io->context().get_executor(), std::forward<Function>(f)); // what is posted is work of its own
        else
            asio::post(std::get<asio::any_io_executor>(at_), std::forward<Function>(f));
    }

private:
    using io_work =
        std::decay_t<decltype(asio::prefer(std::declval<io_executor>(), asio::execution::outstanding_work.tracked))>;
    std::variant<std::monostate, io_work, asio::any_io_executor> at_;
};

} // namespace zklock::detail
