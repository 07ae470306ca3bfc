#pragma once

namespace zklock::runtime {

/// Differs from what it was before in a process that was forked off since. Cheap: no system call.
/// @throws std::bad_alloc, the first time.
[[nodiscard]] unsigned fork_count();

} // namespace zklock::runtime
