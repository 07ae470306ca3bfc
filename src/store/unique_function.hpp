#pragma once
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace zklock::store {

template <class Signature> class unique_function;

/// A function object that is moved, never copied. What fits into five words takes no memory from the heap; nearly
/// everything that is passed on for a grant or a release does. (std::function takes memory for a function that holds a
/// shared pointer.)
///
/// A call through a const object may change the function that is called; so it is with std::function.
template <class R, class... Args> class unique_function<R(Args...)> {
    static constexpr std::size_t words = 5;
    template <class F>
    static constexpr bool fits =
        sizeof(F) <= words * sizeof(void*) && alignof(F) <= alignof(void*) && std::is_nothrow_move_constructible_v<F>;

public:
    unique_function() noexcept = default;
    unique_function(std::nullptr_t) noexcept {}

    template <class F>
        requires(!std::is_same_v<std::decay_t<F>, unique_function> &&
                 std::is_invocable_r_v<R, std::decay_t<F>&, Args...>)
    unique_function(F&& f)
    {
        hold(std::forward<F>(f));
    }
    /// Becomes that function; an empty one without a move.
    template <class F>
        requires(!std::is_same_v<std::decay_t<F>, unique_function> &&
                 std::is_invocable_r_v<R, std::decay_t<F>&, Args...>)
    unique_function& operator=(F&& f)
    {
        if (with_)
            *this = unique_function(std::forward<F>(f));
        else
            hold(std::forward<F>(f));
        return *this;
    }

    unique_function(unique_function&& other) noexcept { take(other); }
    unique_function& operator=(unique_function&& other) noexcept
    {
        if (this != &other) {
            const unique_function old(std::move(*this)); // what it owns may come back here
            take(other);
        }
        return *this;
    }
    ~unique_function()
    {
        if (with_)
            with_->destroy(room_);
    }

    [[nodiscard]] explicit operator bool() const noexcept { return with_ != nullptr; }

    /// Calls the function, of which there must be one.
    R operator()(Args... args) const { return with_->call(room_, std::forward<Args>(args)...); }

private:
    struct operations {
        R (*call)(void* room, Args&&...);
        void (*move)(void* from, void* to) noexcept; ///< and leaves nothing to destroy
        void (*destroy)(void* room) noexcept;
    };
    template <class F> static F& held_in(void* room) noexcept
    {
        if constexpr (fits<F>)
            return *std::launder(static_cast<F*>(room));
        else
            return **std::launder(static_cast<F**>(room));
    }
    template <class F>
    static constexpr operations operations_of{
        [](void* room, Args&&... args) -> R { return held_in<F>(room)(std::forward<Args>(args)...); },
        [](void* from, void* to) noexcept {
            if constexpr (fits<F>) {
                ::new (to) F(std::move(held_in<F>(from)));
                std::destroy_at(&held_in<F>(from));
            } else {
                ::new (to) F*(&held_in<F>(from));
            }
        },
        [](void* room) noexcept {
            if constexpr (fits<F>)
                std::destroy_at(&held_in<F>(room));
            else
                delete &held_in<F>(room);
        }};

    template <class F> void hold(F&& f)
    {
        using held = std::decay_t<F>;
        if constexpr (fits<held>)
            ::new (static_cast<void*>(room_)) held(std::forward<F>(f));
        else
            ::new (static_cast<void*>(room_)) held*(new held(std::forward<F>(f)));
        with_ = &operations_of<held>;
    }
    void take(unique_function& other) noexcept
    {
        with_ = std::exchange(other.with_, nullptr);
        if (with_)
            with_->move(other.room_, room_);
    }

    const operations* with_ = nullptr;
    alignas(void*) mutable std::byte room_[words * sizeof(void*)];
};

} // namespace zklock::store
