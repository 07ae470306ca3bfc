#pragma once
#include "store/store.hpp"

namespace zklock::bridge {

/// What the C client's code in a reply means. A code that leaves open whether the server did it becomes `unknown`,
/// and the connection it came on must end.
[[nodiscard]] store::outcome to_outcome(int code) noexcept;

/// Whether a code that becomes `unknown` says that the server did nothing, and will not.
[[nodiscard]] bool is_undone(int code) noexcept;

/// The create mode of the C client.
[[nodiscard]] int to_mode(store::node_kind kind) noexcept;

} // namespace zklock::bridge
