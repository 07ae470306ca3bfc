#pragma once
#include "plan.hpp"

#include <chrono>

namespace zklock::simulator {

/// A plan that still fails in the same way, with as few steps and faults and in as simple a world as can be found in the
/// time allowed. `p` fails.
[[nodiscard]] plan shrink(plan p, std::chrono::milliseconds time_allowed);

} // namespace zklock::simulator
