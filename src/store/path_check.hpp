#pragma once
#include <string_view>

namespace zklock::store {

/// Whether the C client and the servers take it for a path, the root's included. With `sequential` the servers put a
/// number behind it, so that its last component may be anything that is not forbidden, even empty.
[[nodiscard]] bool is_valid_path(std::string_view path, bool sequential = false) noexcept;

} // namespace zklock::store
