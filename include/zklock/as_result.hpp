// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/built_alike.hpp"
#include "zklock/result.hpp"

#include <boost/asio/associator.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace zklock {

namespace asio = boost::asio;

/// A completion token that turns `void(error_code)` into `void(result<void>)` and `void(error_code, T)` into
/// `void(result<T>)`, and hands that to another token.
///
/// So `co_await op(as_result(asio::use_awaitable))` gives a `result<T>`: nothing is thrown for an error, and the error
/// cannot be overlooked. Executor, allocator and cancellation slot are those of the inner token's handler.
///
/// What holds a lock comes as an `acquired<T>`, which is a `result<T>` that needs a name: see `acquired.hpp`.
///
/// It works with every token that accepts the changed signature, and on every Asio operation with one of the two
/// signatures, not only on this library's. The idea, and the shape, are those of Boost.Asio's `as_tuple`.
///
/// A cancelled operation gives a result with `asio::error::operation_aborted`. But a *coroutine* that was cancelled
/// throws `boost::system::system_error` at its next `co_await`, whatever the token: that is Asio's own doing, and
/// `co_await asio::this_coro::throw_if_cancelled(false)` turns it off.
template <class Token> class as_result_t {
public:
    constexpr as_result_t()
        requires std::default_initializable<Token>
    = default;
    /// Wraps that token.
    constexpr explicit as_result_t(Token token) : token_(std::move(token)) {}

    /// An executor type: this token is the default of the I/O objects that use it.
    template <class Inner> struct executor_with_default : Inner {
        using default_completion_token_type = as_result_t; ///< what Asio asks an executor for

        /// From the executor that it wraps, or what converts to it.
        template <class Other>
            requires(!std::same_as<Other, executor_with_default> && std::convertible_to<Other, Inner>)
        executor_with_default(const Other& other) noexcept : Inner(other)
        {
        }
    };

    /// The I/O object type whose operations give results by default:
    /// `as_result_t<asio::use_awaitable_t<>>::as_default_on_t<asio::steady_timer>`. It is for Asio's I/O objects, such
    /// as timers and sockets; those of this library give results anyway.
    template <class IoObject>
    using as_default_on_t =
        typename IoObject::template rebind_executor<executor_with_default<typename IoObject::executor_type>>::other;

    /// Makes an object of the type `as_default_on_t` from an I/O object.
    template <class IoObject> [[nodiscard]] static auto as_default_on(IoObject&& object)
    {
        return as_default_on_t<std::decay_t<IoObject>>(std::forward<IoObject>(object));
    }

    Token token_; ///< the inner token
};

/// Wraps a completion token. `as_result(asio::deferred)`, `as_result(my_callback)`, …
template <class Token> [[nodiscard]] constexpr as_result_t<std::decay_t<Token>> as_result(Token&& token)
{
    return as_result_t<std::decay_t<Token>>(std::forward<Token>(token));
}

/// What every operation of this library completes with when no token is named: `co_await op()` gives a `result`.
using default_token = as_result_t<asio::use_awaitable_t<>>;

namespace detail {

/// The type in which a `T` is delivered, and what lives during the delivery. What holds a lock is delivered with more
/// care: see acquired.hpp.
template <class T> struct delivered {
    using type = result<T>;
    struct turn {
        explicit turn(const T&) noexcept {}
    };
};

template <class Handler> struct as_result_handler {
    Handler handler_;

    void operator()(error_code ec)
    {
        if (ec)
            std::move(handler_)(result<void>(ec));
        else
            std::move(handler_)(result<void>(boost::outcome_v2::success()));
    }
    template <class T> void operator()(error_code ec, T value)
    {
        using type = typename delivered<T>::type;
        if (ec)
            return std::move(handler_)(type(ec));
        const typename delivered<T>::turn now(value);
        std::move(handler_)(type(std::move(value)));
    }
};

// Derived from what it wraps, so that get_executor() and whatever else an initiation offers stay visible.
template <class Initiation> struct as_result_initiation : Initiation {
    explicit as_result_initiation(const Initiation& inner) : Initiation(inner) {}
    explicit as_result_initiation(Initiation&& inner) : Initiation(std::move(inner)) {}

    template <class Handler, class... Args> void operator()(Handler&& handler, Args&&... args) &&
    {
        static_cast<Initiation&&>(*this)(as_result_handler<std::decay_t<Handler>>{std::forward<Handler>(handler)},
                                         std::forward<Args>(args)...);
    }
    template <class Handler, class... Args> void operator()(Handler&& handler, Args&&... args) const&
    {
        static_cast<const Initiation&>(*this)(
            as_result_handler<std::decay_t<Handler>>{std::forward<Handler>(handler)}, std::forward<Args>(args)...);
    }
};

// Derived, so that what Asio's binders ask of an inner token is there: bind_executor(e, as_result(use_awaitable)).
template <class Token, class Signature> struct as_result_base : asio::async_result<Token, Signature> {
    template <class Initiation, class Wrapped, class... Args>
    static auto initiate(Initiation&& initiation, Wrapped&& wrapped, Args&&... args)
    {
        using inner = std::conditional_t<std::is_const_v<std::remove_reference_t<Wrapped>>, const Token, Token>;
        return asio::async_initiate<inner, Signature>(
            as_result_initiation<std::decay_t<Initiation>>(std::forward<Initiation>(initiation)), wrapped.token_,
            std::forward<Args>(args)...);
    }
};

} // namespace detail
} // namespace zklock

namespace boost::asio {

template <class Token>
struct async_result<zklock::as_result_t<Token>, void(boost::system::error_code)>
    : zklock::detail::as_result_base<Token, void(zklock::result<void>)> {};

template <class Token, class T>
struct async_result<zklock::as_result_t<Token>, void(boost::system::error_code, T)>
    : zklock::detail::as_result_base<Token, void(typename zklock::detail::delivered<T>::type)> {};

template <template <class, class> class Associator, class Handler, class Default>
struct associator<Associator, zklock::detail::as_result_handler<Handler>, Default> : Associator<Handler, Default> {
    static typename Associator<Handler, Default>::type get(const zklock::detail::as_result_handler<Handler>& handler,
                                                           const Default& fallback = Default()) noexcept
    {
        return Associator<Handler, Default>::get(handler.handler_, fallback);
    }
};

} // namespace boost::asio
