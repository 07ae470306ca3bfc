#pragma once
#include "zklock/client_options.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace zklock::queue {

using path_fault = std::optional<std::string_view>;

/// Why the servers would not take it for the path of a node other than the root. It has to be absolute UTF-8, with no
/// empty, `.` or `..` component, no trailing slash, none of the characters that ZooKeeper forbids, and a length (4096)
/// that fits every packet. find_path_fault() tells that, and what is no place for a lock.
[[nodiscard]] path_fault find_node_path_fault(std::string_view path) noexcept;

[[nodiscard]] inline bool valid_path(std::string_view path) noexcept
{
    return !find_node_path_fault(path);
}

/// Everything before the last slash of a valid path; empty for a child of the root.
[[nodiscard]] std::string_view parent_of(std::string_view path) noexcept;

/// The same as parent_of(node) == parent, of a valid path and what may be its parent, in less time.
[[nodiscard]] inline bool is_child_of(std::string_view node, std::string_view parent) noexcept
{
    if (node.size() <= parent.size() || node[parent.size()] != '/')
        return false;
    const bool ends_alike = parent.empty() || node[parent.size() - 1] == parent.back(); // which paths mostly do not
    return ends_alike && node.starts_with(parent) && node.find('/', parent.size() + 1) == node.npos;
}

[[nodiscard]] std::string child_of(std::string_view parent, std::string_view name);
/// Puts child_of() into the memory of a string that is not needed any more.
void child_of(std::string_view parent, std::string_view name, std::string& path);

/// The last component of a path.
[[nodiscard]] std::string_view name_of(std::string_view path) noexcept;

} // namespace zklock::queue
