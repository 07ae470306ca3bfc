#pragma once
#include "zklock/as_result.hpp"
#include "zklock/result.hpp"

#include <memory>
#include <utility>

namespace zklock {

namespace detail {

class guard_state;

/// While it lives, what is held is being delivered: the turn of whoever has awaited it.
class delivery {
public:
    explicit delivery(const guard_state*) noexcept;
    ~delivery();
    delivery(const delivery&) = delete;
    delivery& operator=(const delivery&) = delete;

private:
    const guard_state* const before_;
};

/// What goes away now has not been looked at. If it is being delivered, its release tells of that.
void unseen(guard_state&) noexcept;

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
///
/// **`co_await lock.acquire(5s);`** compiles: gcc (12 at least) has no warning for what a `co_await` gives and nobody
/// takes, unless it is a number or a pointer; clang has one. At run time it is told. Where a result that holds the lock
/// is destroyed in the turn in which it was delivered, and nobody has looked at it or moved it away, then
/// - `client_options::log` is told at level warning, with path and node;
/// - the listener's event `released` says so (`lock_event::unseen`);
/// - the client counts it.
///
/// Whatever looks at the result ends that: `operator bool`, `has_value()`, `error()`, `value()`. So does keeping it
/// beyond the turn, that is, over a suspension. A body without a suspension that does not even ask whether it has got
/// the lock is told, too: it would have run without the lock as well. Nothing is told where the guard was handed over
/// bare, by other tokens than `as_result`: there a body without a suspension, which need not look, does the same.
///
/// It converts to `result<T>`, and can be used wherever that can.
template <class T> class [[nodiscard]] acquired : public result<T> {
public:
    acquired(error_code why);
    acquired(T held) : result<T>(std::move(held)) {}
    acquired(acquired&& other) noexcept : result<T>(static_cast<result<T>&&>(other)), looked_(other.looked_) {}
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
                detail::unseen(*held);
    }

    [[nodiscard]] explicit operator bool() const& noexcept { return look().has_value(); }
    explicit operator bool() const&& = delete; ///< give the result a name: it holds the lock
    [[nodiscard]] bool has_value() const& noexcept { return look().has_value(); }
    bool has_value() const&& = delete; ///< give the result a name: it holds the lock
    [[nodiscard]] bool has_error() const& noexcept { return look().has_error(); }
    bool has_error() const&& = delete; ///< give the result a name: it holds the lock

    [[nodiscard]] const error_code& error() const { return look().error(); }
    [[nodiscard]] T& value() & { return look().value(); }
    [[nodiscard]] const T& value() const& { return look().value(); }
    [[nodiscard]] T&& value() && { return std::move(look()).value(); }

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
