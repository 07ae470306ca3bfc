#pragma once
#include "plan.hpp"

namespace zklock::simulator {

/// What a violation says, without who and which: the same fault in another schedule has the same kind.
[[nodiscard]] std::string kind_of(const std::string& violation);

/// A plan that still fails in the same way, with as few steps and faults and in as simple a world as can be found in
/// the time allowed. `p` fails.
[[nodiscard]] plan shrink(plan p, std::chrono::milliseconds time_allowed);

} // namespace zklock::simulator
