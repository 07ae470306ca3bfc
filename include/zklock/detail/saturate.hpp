// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/events.hpp"

#include <chrono>
#include <limits>

namespace zklock::detail {

/// Makes any duration one of the lease clock. One that does not fit becomes the largest (no deadline); one that is
/// negative, or not a number, becomes zero (look once); a part of a nanosecond becomes a whole one.
template <class Rep, class Period>
[[nodiscard]] constexpr lease_clock::duration saturate(std::chrono::duration<Rep, Period> d)
{
    using wide = std::chrono::duration<long double, lease_clock::period>;
    const long double value = std::chrono::duration_cast<wide>(d).count();
    if (!(value > 0))
        return lease_clock::duration::zero();
    if (value >= static_cast<long double>(std::numeric_limits<lease_clock::rep>::max()))
        return lease_clock::duration::max();
    const auto whole = static_cast<lease_clock::rep>(value);
    return lease_clock::duration(static_cast<long double>(whole) < value ? whole + 1 : whole);
}

} // namespace zklock::detail
