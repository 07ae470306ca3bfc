#pragma once

namespace zklock::runtime {

/// How many forks lie between the first call of this and the present process: a process that was forked off since then
/// gets another number than its parent. It is cheap: it makes no system call. @throws std::bad_alloc, the first time.
[[nodiscard]] unsigned fork_count();

} // namespace zklock::runtime
