// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/as_result.hpp"
#include "zklock/detail/built_alike.hpp"
#include "zklock/result.hpp"

#include <memory>
#include <utility>

namespace zklock {

namespace detail {

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
template <class Handle> [[nodiscard]] guard_state* held_by(const Handle&) noexcept;

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
