// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/same_library.hpp"

#include <optional>
#include <string_view>

namespace zklock {

/// Which rule that path breaks, in words, so that no lock can be there: why operations end with `errc::invalid_path`.
/// Nothing if it breaks none. `chroot` is the client's, empty or `/` if it has none. Nothing is connected: so a program
/// can check its configuration at the start. What it returns is there for ever; it throws nothing. From any thread.
///
///     if (const auto fault = zklock::find_path_fault(path))
///         throw std::runtime_error("the lock's path: " + std::string(*fault));
///
/// `client_options::log` tells the same of each path that is refused, at level error, with the same words. What only
/// the servers know is told by neither: that one of the nodes above the path is ephemeral, and can have no children.
[[nodiscard]] std::optional<std::string_view> find_path_fault(std::string_view path,
                                                              std::string_view chroot = {}) noexcept;

} // namespace zklock
