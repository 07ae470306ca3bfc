#pragma once
#include "store/unique_function.hpp"
#include "zklock/events.hpp"

#include <cstdint>
#include <functional>

namespace zklock::store {

/// Time, as the recipes see it. Like the store it belongs to one strand: every call comes from there, every function
/// given to it runs there, and none runs inside the call that gave it.
class scheduler {
public:
    using time_point = lease_clock::time_point;
    /// 0 names no timer.
    using timer_id = std::uint64_t;

    virtual ~scheduler() = default;

    [[nodiscard]] virtual time_point now() const = 0;

    /// Runs `f` once, at `when` or soon after; at once (but not inside this call) if `when` has passed.
    [[nodiscard]] virtual timer_id call_at(time_point when, std::function<void()> f) = 0;

    /// The function of that timer will not run. Harmless for 0 and for a timer that has run.
    virtual void cancel(timer_id) = 0;

    /// Runs `f` soon, after what is running now; posted functions run in the order of their posts.
    virtual void post(unique_function<void()> f) = 0;
};

} // namespace zklock::store
