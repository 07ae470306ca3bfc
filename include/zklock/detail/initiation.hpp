#pragma once
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>

#include <tuple>
#include <utility>

// How the public templates begin an operation. What they call is a compiled *start function*: it takes the state it
// works on, by value, then its arguments, and last a handler with its type erased.

namespace zklock::detail {

namespace asio = boost::asio;

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
            [&](Args&... args) {
                Start(std::move(state_), std::move(args)..., erased(std::forward<Handler>(handler)));
            },
            args_);
    }
    template <class Handler> void operator()(Handler&& handler) const&
    {
        std::apply([&](const Args&... args) { Start(state_, args..., erased(std::forward<Handler>(handler))); },
                   args_);
    }

private:
    using erased = typename completion_of<decltype(Start)>::handler;

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
