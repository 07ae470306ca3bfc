#pragma once
#include "store/store.hpp"

#include <string>

namespace zklock::bridge {

/// What the C client's code in a reply means. A code that leaves open whether the server did it becomes `unknown`,
/// and the connection it came on must end.
[[nodiscard]] store::outcome to_outcome(int code) noexcept;

/// What the log says of a code that should not have come, with its name and number; empty if it is an answer like any
/// other.
[[nodiscard]] std::string words_for(int code);

/// Whether a code that becomes `unknown` says that the server did nothing, and will not.
[[nodiscard]] bool is_undone(int code) noexcept;

/// The create mode of the C client.
[[nodiscard]] int to_mode(store::node_kind kind) noexcept;

} // namespace zklock::bridge
