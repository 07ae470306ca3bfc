#pragma once
#include "zklock/events.hpp"

#include <algorithm>

namespace zklock::bridge::peering {

using time_point = lease_clock::time_point;

/// Bounds how often something is done: `most` times at once, and then once in each `interval`.
class token_bucket {
public:
    using duration = lease_clock::duration;

    constexpr token_bucket(int most, duration interval) noexcept : interval_(interval), room_(interval * most) {}

    /// Whether it may be done now; if so, it counts as done.
    [[nodiscard]] bool take(time_point now) noexcept
    {
        if (next(now) > now)
            return false;
        full_again_ = std::max(full_again_, now) + interval_;
        return true;
    }
    /// So many count as not done.
    void give_back(int times) noexcept { full_again_ -= interval_ * times; }
    /// Whether as much may be done at once as ever.
    [[nodiscard]] bool full(time_point now) const noexcept { return full_again_ <= now; }
    /// When it may be done next.
    [[nodiscard]] time_point next(time_point now) const noexcept
    {
        return std::max(now, full_again_ + interval_ - room_);
    }

private:
    duration interval_;
    duration room_;
    time_point full_again_{};
};

} // namespace zklock::bridge::peering
