// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/built_alike.hpp"

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/associator.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/io_context.hpp>

#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

// How the public templates begin an operation. What they call is a compiled *start function*: it takes the state it
// works on, by value, then its arguments, and last a handler with its type erased.

namespace zklock::detail {

namespace asio = boost::asio;

/// A handler right before its type is erased. Most are to run on the client's own executor, as those of a coroutine
/// that was spawned there. Each would have that wrapped anew, which takes memory; this compares it before, and then
/// names the executor that the client has wrapped once.
template <class Handler> struct erasable_handler {
    Handler handler;

    template <class... Values> void operator()(Values&&... values) &&
    {
        std::move(handler)(std::forward<Values>(values)...);
    }
};

/// Whether both are the executor of one `io_context`, which is what nearly every client has.
template <class Executor>
[[nodiscard]] bool are_the_same(const asio::any_completion_executor& clients, const Executor& own) noexcept
{
    using executor = asio::io_context::executor_type;
    const auto* const one = clients.target<executor>();
    if constexpr (std::is_same_v<Executor, executor>)
        return one && *one == own;
    else if constexpr (std::is_same_v<Executor, asio::any_io_executor>) {
        const auto* const other = own.template target<executor>();
        return one && other && *one == *other;
    } else
        return false;
}

/// The executor of a handler; `clients` is the client's. Empty where there is no memory to wrap another.
template <class Handler>
[[nodiscard]] asio::any_completion_executor executor_to_erase(const Handler& handler,
                                                              const asio::any_completion_executor& clients) noexcept
{
    const auto own = asio::get_associated_executor(handler, clients);
    if (are_the_same(clients, own))
        return clients;
    return asio::any_completion_executor(std::nothrow, own);
}

/// What an operation completes with, by its start function.
template <class Function> struct completion_of;
template <class First, class... Rest>
struct completion_of<void (*)(First, Rest...)> : completion_of<void (*)(Rest...)> {};
template <class Signature> struct completion_of<void (*)(asio::any_completion_handler<Signature>)> {
    using signature = Signature;
    using handler = asio::any_completion_handler<Signature>;
};

/// The initiation of an operation: what Asio calls with the handler. A lazy token (`deferred`, `use_awaitable`) keeps
/// it until the operation is started. An initiation that is started as an rvalue gives its state away: so a pending
/// operation holds nothing but what its start function keeps, and is no handle to the client.
template <auto Start, class State, class... Args> class initiation {
public:
    using executor_type = asio::any_io_executor;
    using signature = typename completion_of<decltype(Start)>::signature;

    explicit initiation(State state, Args... args) : state_(std::move(state)), args_(std::move(args)...) {}

    [[nodiscard]] executor_type get_executor() const { return executor_of(state_); }

    template <class Handler> void operator()(Handler&& handler) &&
    {
        std::apply(
            [&](Args&... args) { Start(std::move(state_), std::move(args)..., erase(std::forward<Handler>(handler))); },
            args_);
    }
    template <class Handler> void operator()(Handler&& handler) const&
    {
        std::apply([&](const Args&... args) { Start(state_, args..., erase(std::forward<Handler>(handler))); }, args_);
    }

private:
    template <class Handler> [[nodiscard]] static auto erase(Handler&& handler)
    {
        using erased = typename completion_of<decltype(Start)>::handler;
        return erased(erasable_handler<std::decay_t<Handler>>{std::forward<Handler>(handler)});
    }

    State state_;
    std::tuple<Args...> args_;
};

/// Begins an operation. `Token` is named, as with async_initiate: a handler that the caller keeps is copied, not moved
/// from.
template <class Token, class Initiation> [[nodiscard]] auto begin(Token& token, Initiation what)
{
    return asio::async_initiate<Token, typename Initiation::signature>(std::move(what), token);
}

/// Begins an operation that is named by its start function.
template <class Token, auto Start, class State, class... Args>
[[nodiscard]] auto begin(Token& token, State state, Args... args)
{
    return begin<Token>(token, initiation<Start, State, Args...>(std::move(state), std::move(args)...));
}

} // namespace zklock::detail

/// All but its executor is the handler's own.
template <template <class, class> class Associator, class Handler, class Candidate>
struct boost::asio::associator<Associator, zklock::detail::erasable_handler<Handler>, Candidate>
    : Associator<Handler, Candidate> {
    static auto get(const zklock::detail::erasable_handler<Handler>& h, const Candidate& c = Candidate()) noexcept
    {
        return Associator<Handler, Candidate>::get(h.handler, c);
    }
};

template <class Handler>
struct boost::asio::associated_executor<zklock::detail::erasable_handler<Handler>,
                                        boost::asio::any_completion_executor> {
    using type = any_completion_executor;
    static type get(const zklock::detail::erasable_handler<Handler>& h, const type& candidate = {}) noexcept
    {
        return zklock::detail::executor_to_erase(h.handler, candidate);
    }
};
