#pragma once

namespace zklock::runtime {

/// How many forks lie between the first call of this and the present process: a process that was forked off since then
/// gets another number than its parent. It is cheap: it makes no system call. @throws std::bad_alloc, the first time.
[[nodiscard]] unsigned fork_count();

/// In a forked process of which Asio was not told: closes the parent's socket here, and leaves it open there. Where it
/// is not told, Asio takes a descriptor that it closes off the epoll set that the parent uses; so what it finds under
/// that number has to be another file, and is, from now on.
void leave_to_parent(int descriptor) noexcept;

} // namespace zklock::runtime
