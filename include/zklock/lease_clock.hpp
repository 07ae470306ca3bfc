// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>

namespace zklock {

/// The clock by which leases and deadlines are measured.
///
/// It is `CLOCK_BOOTTIME`: it is monotonic, and goes on while the machine is suspended, as the servers' session timers
/// do. Its epoch is the start of the machine, so its values mean nothing on another machine.
///
/// Thread safety: `now()` may be called from any thread.
struct lease_clock {
    using duration = std::chrono::nanoseconds;               ///< what a difference of two times is
    using rep = duration::rep;                               ///< the number in it
    using period = duration::period;                         ///< and its unit
    using time_point = std::chrono::time_point<lease_clock>; ///< a time of this clock
    static constexpr bool is_steady = true;                  ///< it is never set back

    /// The time. From any thread.
    [[nodiscard]] static time_point now() noexcept;
};

} // namespace zklock
