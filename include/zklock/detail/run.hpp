// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/operations.hpp"
#include "zklock/errc.hpp"
#include "zklock/guard.hpp"
#include "zklock/result.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

// run() of the locks: acquire, body, release. `Handle` is what the body gets: a guard, or what another recipe gives.

namespace zklock::detail {

template <class Awaitable> struct body_value {
    static_assert(!sizeof(Awaitable), "the body must give awaitable<result<T>> or awaitable<void>");
};
template <> struct body_value<asio::awaitable<void>> {
    using type = void;
};
template <class T> struct body_value<asio::awaitable<result<T>>> {
    using type = T;
};
template <class T> struct body_value<asio::awaitable<outcome_result<T>>> {
    using type = T;
};
template <class Body, class Handle>
using body_value_t = typename body_value<std::invoke_result_t<Body&, Handle&>>::type;

/// The body as it is kept. What is wrong with it is told here: before its result is asked for.
template <class Body, class Handle> struct checked_body {
    using type = std::decay_t<Body>;
    static_assert(std::is_invocable_v<type&, Handle&>,
                  "the body must be callable with what is held: a zklock::guard&, "
                  "of a semaphore zklock::permits&, of a multi_lock zklock::multi_guard&, "
                  "of an election zklock::leadership&");
#if defined(__GNUC__) && !defined(__clang__)
    static_assert(std::is_lvalue_reference_v<Body> || std::is_trivially_destructible_v<Body>,
                  "gcc 12 destroys such a temporary twice in a co_await expression: "
                  "give the lambda a name and pass that (std::ref(name), if it cannot be copied)");
#endif
};
template <class Body, class Handle> using body_of = typename checked_body<Body, Handle>::type;

/// What the body, and those who may cancel it, share.
class run_control {
public:
    enum class cause : std::uint8_t { loss, other };

    virtual ~run_control() = default;

    /// The body runs on it and is cancelled on it, so that on a pool of threads the two never meet.
    [[nodiscard]] const asio::any_io_executor& executor() const noexcept { return executor_; }
    [[nodiscard]] asio::cancellation_slot slot() noexcept { return cancel_.slot(); }
    void body_ends() noexcept { done_ = true; }

protected:
    explicit run_control(asio::any_io_executor executor) : executor_(std::move(executor)) {}
    void cancel(asio::cancellation_type type)
    {
        if (!done_)
            cancel_.emit(type);
    }

private:
    const asio::any_io_executor executor_;
    asio::cancellation_signal cancel_;
    bool done_ = false;
};

[[nodiscard]] std::shared_ptr<run_control> make_run_control(const asio::any_io_executor& body);

/// May be called from any thread. Asio's own way from a slot into a spawned coroutine passes a raw pointer to the
/// coroutine's executor; because the signal is emitted on that executor, the pointer is used at once. For a loss, this
/// takes no memory on an `io_context` and a `thread_pool`: a body must not run on without its lock.
void cancel_body(const std::weak_ptr<run_control>& control, run_control::cause why, asio::cancellation_type type);

template <class T> struct body_outcome {
    std::optional<result<T>> given;
    std::exception_ptr thrown;
};

template <class Handle, class Body, class T>
asio::awaitable<void> run_body(std::shared_ptr<run_control> control, Body& body, Handle& held, body_outcome<T>& outcome)
{
    try {
        if constexpr (std::is_same_v<std::invoke_result_t<Body&, Handle&>, asio::awaitable<void>>) {
            co_await std::invoke(body, held);
            outcome.given.emplace(boost::outcome_v2::success());
        } else {
            outcome.given.emplace(co_await std::invoke(body, held));
        }
    } catch (...) {
        outcome.thrown = std::current_exception();
    }
    control->body_ends();
}

/// Cancels the body when it has no right to run any more. A recipe may have more reasons than a loss.
template <class Handle> struct when_to_stop {
    static void watch(Handle& held, const std::weak_ptr<run_control>& body)
    {
        held.wait_lost([body](error_code ec) {
            if (!ec)
                cancel_body(body, run_control::cause::loss, asio::cancellation_type::terminal);
        });
    }
};

/// What spawns the body on its strand, and cancels it when the waiting coroutine is cancelled or the lock is lost (or
/// whatever else there is to stop for).
template <class Handle, class Body, class T>
[[nodiscard]] auto spawning(std::shared_ptr<run_control> control, Body& body, Handle& held, body_outcome<T>& outcome)
{
    return [control = std::move(control), &body, &held, &outcome]<class Handler>(Handler&& handler) {
        const std::weak_ptr<run_control> weak = control;
        if (auto slot = asio::get_associated_cancellation_slot(handler); slot.is_connected())
            slot.assign([weak](asio::cancellation_type type) { cancel_body(weak, run_control::cause::other, type); });

        // The first step is on the strand, too, so that no cancellation comes before the body's slot is filled, or
        // meanwhile.
        asio::post(control->executor(), [control, &body, &held, &outcome,
                                         handler = std::forward<Handler>(handler)]() mutable {
            when_to_stop<Handle>::watch(held, control);
            auto spawned = run_body(control, body, held, outcome);
            const auto executor = asio::get_associated_executor(handler, control->executor());
            auto done = [control, handler = std::move(handler)](std::exception_ptr) mutable { std::move(handler)(); };
            asio::co_spawn(
                control->executor(), std::move(spawned),
                asio::bind_cancellation_slot(control->slot(), asio::bind_executor(executor, std::move(done))));
        });
    };
}

[[nodiscard]] inline bool was_aborted(const std::exception_ptr& thrown)
{
    try {
        std::rethrow_exception(thrown);
    } catch (const boost::system::system_error& e) {
        return e.code() == asio::error::operation_aborted;
    } catch (...) {
        return false;
    }
}

/// Whether the body has given away, or given back, what was held: nothing is left that could be lost.
template <class Handle> [[nodiscard]] bool is_empty(const Handle& held) noexcept
{
    if constexpr (requires { held.count(); })
        return held.count() == 0;
    else if constexpr (requires { held.locks(); })
        return held.locks().empty();
    else
        return held.node().empty();
}

/// Runs the body with what is held, and releases it.
template <class Handle, class Body>
asio::awaitable<result<body_value_t<Body, Handle>>> run_holding(Handle held, Body& body)
{
    const auto cancelled = co_await asio::this_coro::cancellation_state;
    // From here on nothing may be thrown past the release; the caller's own setting is restored after it.
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);

    body_outcome<body_value_t<Body, Handle>> outcome;
    const auto executor = co_await asio::this_coro::executor;
    const auto control = make_run_control(executor);
    auto spawn = spawning(control, body, held, outcome);
    asio::use_awaitable_t<> plain;
    co_await asio::async_initiate<asio::use_awaitable_t<>, void()>(std::move(spawn), plain);

    bool lost = false;
    if (cancelled.cancelled() != asio::cancellation_type::none) {
        lost = !held && !is_empty(held);
        held = Handle();
    } else {
        const result<void> released = co_await std::move(held).release();
        lost = released.has_error() && released.error() == errc::lost;
    }

    co_await asio::this_coro::throw_if_cancelled(throws);
    if (outcome.thrown && !(lost && was_aborted(outcome.thrown)))
        std::rethrow_exception(outcome.thrown);
    if (lost)
        co_return make_error_code(errc::lost);
    co_return std::move(*outcome.given);
}

template <class Handle, class Body>
asio::awaitable<result<body_value_t<Body, Handle>>> acquire_and_run(acquire_initiation<Handle> acquire, Body body)
{
    default_token token;
    result<Handle> acquired =
        co_await asio::async_initiate<default_token, void(error_code, Handle)>(std::move(acquire), token);
    if (!acquired)
        co_return acquired.error();
    const auto cancelled = co_await asio::this_coro::cancellation_state;
    if (cancelled.cancelled() != asio::cancellation_type::none)
        co_return error_code(asio::error::operation_aborted); // the grant was faster; the guard gives it back
    auto running = run_holding(std::move(acquired).value(), body);
    co_return co_await std::move(running);
}

template <class Handle, class Body> [[nodiscard]] auto run(acquire_initiation<Handle> acquire, Body&& body)
{
    return acquire_and_run<Handle, body_of<Body, Handle>>(std::move(acquire), std::forward<Body>(body));
}

} // namespace zklock::detail
