#pragma once
#include <cstdint>

namespace zklock::chaos {

/// A holder looks at its guard, stands still for longer than its session, and writes with its old token when the next
/// holder has written: the resource has to refuse that. Returns the exit status: 0, or 1 when it was let in, or when
/// anything else was wrong; throws when it did not come to that.
int run_stale_write(std::uint64_t seed);

} // namespace zklock::chaos
