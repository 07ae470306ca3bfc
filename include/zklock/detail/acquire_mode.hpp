// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace zklock::detail {

/// How long an acquire waits.
enum class acquire_mode : std::uint8_t {
    wait,     ///< until it is granted, or until its deadline if it has one: `condition::not_in_time`
    look_once ///< it is granted now, or fails: `errc::busy`, or `errc::not_connected` while disconnected
};

} // namespace zklock::detail
