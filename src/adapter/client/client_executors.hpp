#pragma once
#include "runtime/known_executor.hpp"

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution/allocator.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/require.hpp>

#include <type_traits>
#include <utility>
#include <variant>

namespace zklock::detail {

namespace asio = boost::asio;

/// The user's executor in the forms that are needed of it. They are made once, because each takes memory.
struct client_executors {
    explicit client_executors(const asio::any_io_executor& e) : executor(e), for_handlers(e), known(runtime::known(e))
    {
    }

    asio::any_io_executor executor;
    asio::any_completion_executor for_handlers; ///< to be compared with what handlers are associated with
    runtime::known_executor known;
};

/// Work of the user's executor, as long as this is there, and the way to post there.
class client_work {
    template <class Executor>
    using tracked = std::decay_t<decltype(asio::prefer(std::declval<const Executor&>(),
                                                       asio::execution::outstanding_work.tracked))>;

public:
    client_work() = default;

    /// Begins the work. Is called once.
    void begin(const client_executors& of)
    {
        const auto track = [this](const auto& known) {
            work_.emplace<tracked<std::decay_t<decltype(known)>>>(
                asio::prefer(known, asio::execution::outstanding_work.tracked));
        };
        std::visit(track, of.known);
    }

    /// Posts what has no executor of its own; on an `io_context` and a `thread_pool` it waits in that memory.
    /// (asio::post() would look for an executor of what has an allocator, and move it four times.) Must not be called
    /// unless it has begun.
    template <class Function, class Allocator> void post_in(const Allocator& memory, Function&& f) const
    {
        const auto give = [&](const auto& work) {
            if constexpr (std::is_same_v<std::decay_t<decltype(work)>, asio::any_io_executor>)
                asio::post(work, std::forward<Function>(f));
            else // what is posted is work of its own
                asio::prefer(asio::require(asio::require(work, asio::execution::outstanding_work.untracked),
                                           asio::execution::blocking.never),
                             asio::execution::allocator(memory))
                    .execute(std::forward<Function>(f));
        };
        std::visit(give, work_);
    }

private:
    std::variant<asio::any_io_executor, tracked<runtime::io_executor>, tracked<runtime::pool_executor>> work_;
};

} // namespace zklock::detail
