// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/built_alike.hpp"
#include "zklock/errc.hpp"

#include <boost/asio/associator.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/outcome/result.hpp>

#include <cerrno>
#include <concepts>
#include <type_traits>
#include <utility>

namespace zklock {

class guard;

namespace asio = boost::asio;

namespace detail {

template <class T> using outcome_result = boost::outcome_v2::result<T, error_code>;

} // namespace detail

/// What awaiting an operation gives: its value, or the error_code that says why there is none.
///
/// It is Boost.Outcome's `result`, with all that it can do, and converts from it and to it. In addition one can be made
/// of nothing: `asio::co_spawn` needs that of whatever a coroutine gives.
template <class T> class [[nodiscard]] result : public detail::outcome_result<T> {
    using base = detail::outcome_result<T>;

public:
    using base::base;
    /// No value: the error is `asio::error::operation_aborted`. So the result that `co_spawn` hands out beside an
    /// exception is nobody's success.
    result() noexcept : base(error_code(ECANCELED, boost::system::system_category())) {}
    /// From Boost.Outcome's own.
    result(const base& other) : base(other) {}
    /// The same, moved from.
    result(base&& other) noexcept(std::is_nothrow_move_constructible_v<base>) : base(std::move(other)) {}
};

/// A completion token that turns `void(error_code)` into `void(result<void>)` and `void(error_code, T)` into
/// `void(result<T>)`, and hands that to another token.
///
/// So `co_await op(as_result(asio::use_awaitable))` gives a `result<T>`: nothing is thrown for an error, and the error
/// cannot be overlooked. Executor, allocator and cancellation slot are those of the inner token's handler.
///
/// What holds a lock comes as an `acquired<T>`, which is a `result<T>` that needs a name: see there.
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
/// care: see `acquired`.
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
    template <class Handler, class... Args> void operator()(Handler&& handler, Args&&... args) &&
    {
        static_cast<Initiation&&>(*this)(as_result_handler<std::decay_t<Handler>>{std::forward<Handler>(handler)},
                                         std::forward<Args>(args)...);
    }
    template <class Handler, class... Args> void operator()(Handler&& handler, Args&&... args) const&
    {
        static_cast<const Initiation&>(*this)(as_result_handler<std::decay_t<Handler>>{std::forward<Handler>(handler)},
                                              std::forward<Args>(args)...);
    }
};

// Derived, so that what Asio's binders ask of an inner token is there: bind_executor(e, as_result(use_awaitable)).
template <class Token, class Signature> struct as_result_base : asio::async_result<Token, Signature> {
    template <class Initiation, class Wrapped, class... Args>
    static auto initiate(Initiation&& initiation, Wrapped&& wrapped, Args&&... args)
    {
        using inner = std::conditional_t<std::is_const_v<std::remove_reference_t<Wrapped>>, const Token, Token>;
        return asio::async_initiate<inner, Signature>(
            as_result_initiation<std::decay_t<Initiation>>{std::forward<Initiation>(initiation)}, wrapped.token_,
            std::forward<Args>(args)...);
    }
};

class guard_state;

/// Lives during the turn in which a lock is delivered: while the handler or coroutine that awaited it runs.
class delivery {
public:
    explicit delivery(const guard_state*) noexcept;
    ~delivery();
    delivery(const delivery&) = delete;
    delivery& operator=(const delivery&) = delete;

private:
    const guard_state* const before_;
};

/// The guard is destroyed now, and nobody has looked at it. If it is just being delivered, its release reports that.
void note_unseen(guard_state&) noexcept;

/// What a handle of a lock holds; null if nothing.
[[nodiscard]] guard_state* held_by(const guard&) noexcept;

} // namespace detail

/// What awaiting an acquire gives: a `result<T>` that needs a name, because the lock is held as long as it lives. (`T`
/// is `guard`, `permits` or `multi_guard`.)
///
/// **A temporary cannot be asked.** These do not compile, for they would give the lock back before the next line:
///
///     if (co_await lock.acquire(5s)) { … }              // if (auto held = co_await lock.acquire(5s)) { … }
///     if (!co_await lock.acquire(5s)) co_return;        // auto held = co_await …; if (!held) co_return;
///     auto why = (co_await lock.acquire(5s)).error();   // auto held = co_await …; … held.error()
///     auto token = (co_await lock.acquire(5s)).value().fencing_token();   // … held.value().fencing_token()
///
/// **`co_await lock.acquire(5s);`** compiles: gcc (12 and 14) has no warning for what a `co_await` gives and nobody
/// takes, unless it is a number or a pointer; clang has one. At run time it is reported: if a result that holds the
/// lock is destroyed in the turn in which it was delivered, and nobody has looked at it or moved it away, then
/// - `client_options::log` is called at level warning, with path and node (of the same path ever more rarely, with a
///   count);
/// - the listener's event `released` says so (`lock_event::unseen`);
/// - the client counts it (`metrics::unseen`).
///
/// Each look at the result ends that: `operator bool`, `has_value()`, `has_error()`, `has_failure()`, `error()`,
/// `value()`. So does keeping it beyond the turn, that is, over a suspension. A function that takes a
/// `const result<T>&` does not: let it take an `acquired<T>`. A body without a suspension that does not even ask
/// whether it has got the lock is reported, too: it would have run without the lock as well. Nothing is reported where
/// the guard was handed over bare, by other tokens than `as_result`: there a body without a suspension, which need not
/// look, does the same. Nothing is reported, either, where the acquire was cancelled when its lock was on its way
/// already, as `lock.acquire() || timer` does when the timer was first: the operator drops such a result itself.
///
/// It converts to `result<T>`, and can be used wherever that can. What does not convert is the awaitable: a coroutine
/// that hands on what it acquires says `co_return co_await lock.acquire(5s);`, or returns an
/// `asio::awaitable<acquired<T>>`. A temporary goes past all this where it is bound to a `const result<T>&`.
template <class T> class [[nodiscard]] acquired : public result<T> {
public:
    /// Holds nothing, as a `result<T>` made of nothing: see there.
    acquired() noexcept = default;
    /// The acquire failed: `why` says how.
    acquired(error_code why);
    /// The lock is held.
    acquired(T held) : result<T>(std::move(held)) {}
    /// Takes over what the other holds, and whether anybody has looked at it.
    acquired(acquired&& other) noexcept : result<T>(static_cast<result<T>&&>(other)), looked_(other.looked_) {}
    /// The same; what this one held before is released in the background.
    acquired& operator=(acquired&& other) noexcept
    {
        static_cast<result<T>&>(*this) = static_cast<result<T>&&>(other);
        looked_ = other.looked_;
        return *this;
    }
    ~acquired()
    {
        if (!looked_ && result<T>::has_value())
            if (auto* const held = detail::held_by(result<T>::assume_value()))
                detail::note_unseen(*held);
    }

    /// Whether the lock was acquired. (`acquired` does not ask whether it is still held: the guard tells.)
    [[nodiscard]] explicit operator bool() const& noexcept { return look().has_value(); }
    explicit operator bool() const&& = delete; ///< give the result a name: it holds the lock
    /// Whether the lock was acquired.
    [[nodiscard]] bool has_value() const& noexcept { return look().has_value(); }
    bool has_value() const&& = delete; ///< give the result a name: it holds the lock
    /// Whether it was not: `error()` says why.
    [[nodiscard]] bool has_error() const& noexcept { return look().has_error(); }
    bool has_error() const&& = delete; ///< give the result a name: it holds the lock
    /// The same as `has_error()`.
    [[nodiscard]] bool has_failure() const& noexcept { return look().has_failure(); }
    bool has_failure() const&& = delete; ///< give the result a name: it holds the lock

    /// Why the acquire failed. There has to be an error: else this throws `boost::outcome_v2::bad_result_access`.
    [[nodiscard]] const error_code& error() const& { return look().error(); }
    const error_code& error() const&& = delete; ///< give the result a name: it may hold the lock
    /// The same, for where it is known that there is an error: else the behaviour is undefined.
    [[nodiscard]] const error_code& assume_error() const& noexcept { return look().assume_error(); }
    const error_code& assume_error() const&& = delete; ///< give the result a name: it may hold the lock
    /// What is held; where there is none, this throws `boost::system::system_error`.
    [[nodiscard]] T& value() & { return look().value(); }
    /// The same, to be looked at.
    [[nodiscard]] const T& value() const& { return look().value(); }
    /// The same, to be moved away.
    [[nodiscard]] T&& value() && { return std::move(look()).value(); }
    /// What is held, for where it is known that something is: else the behaviour is undefined.
    [[nodiscard]] T& assume_value() & noexcept { return look().assume_value(); }
    /// The same, to be looked at.
    [[nodiscard]] const T& assume_value() const& noexcept { return look().assume_value(); }
    /// The same, to be moved away.
    [[nodiscard]] T&& assume_value() && noexcept { return std::move(look()).assume_value(); }

private:
    [[nodiscard]] result<T>& look() noexcept
    {
        looked_ = true;
        return *this;
    }
    [[nodiscard]] const result<T>& look() const noexcept
    {
        looked_ = true;
        return *this;
    }

    mutable bool looked_ = false;
};

namespace detail {

/// How as_result delivers what holds a lock.
template <class T> struct delivered_lock {
    using type = acquired<T>;

    class turn {
    public:
        explicit turn(const T& held) noexcept : delivery_(held_by(held)) {}

    private:
        delivery delivery_;
    };
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
