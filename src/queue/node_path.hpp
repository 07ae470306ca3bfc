#pragma once
#include <string>
#include <string_view>

namespace zklock::queue {

/// Whether the servers would take it for the path of a node other than the root: absolute, no empty, `.` or `..`
/// component, no trailing slash, UTF-8, none of the characters ZooKeeper forbids, and of a length (4096) that fits
/// every packet.
[[nodiscard]] bool valid_path(std::string_view path) noexcept;

/// Whether a lock may be there: a valid path, and not `/zookeeper` or below it, which is the servers' own. `chroot` is
/// what the path is below; empty or `/` for nothing.
[[nodiscard]] bool valid_lock_path(std::string_view chroot, std::string_view path) noexcept;

/// Of a valid path: everything before the last slash; empty for a child of the root.
[[nodiscard]] std::string_view parent_of(std::string_view path) noexcept;

[[nodiscard]] std::string child_of(std::string_view parent, std::string_view name);
/// The same, in the memory of a string that is not needed any more.
void child_of(std::string_view parent, std::string_view name, std::string& path);

/// Splits the last component off.
[[nodiscard]] std::string_view name_of(std::string_view path) noexcept;

} // namespace zklock::queue
