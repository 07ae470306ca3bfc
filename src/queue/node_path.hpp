#pragma once
#include <string>
#include <string_view>

namespace zklock::queue {

/// Whether the servers would take it for the path of a node other than the root. It is absolute UTF-8, has no empty,
/// `.` or `..` component, no trailing slash, none of the characters that ZooKeeper forbids, and a length (4096) that
/// fits every packet.
[[nodiscard]] bool valid_path(std::string_view path) noexcept;

/// Whether a lock may be there: the path is valid, and is not `/zookeeper` or below it, which is the servers' own. The
/// path is below `chroot`, which is empty or `/` if there is none.
[[nodiscard]] bool valid_lock_path(std::string_view chroot, std::string_view path) noexcept;

/// Everything before the last slash of a valid path; empty for a child of the root.
[[nodiscard]] std::string_view parent_of(std::string_view path) noexcept;

[[nodiscard]] std::string child_of(std::string_view parent, std::string_view name);
/// Puts child_of() into the memory of a string that is not needed any more.
void child_of(std::string_view parent, std::string_view name, std::string& path);

/// The last component of a path.
[[nodiscard]] std::string_view name_of(std::string_view path) noexcept;

} // namespace zklock::queue
