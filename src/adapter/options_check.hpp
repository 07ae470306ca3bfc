#pragma once
#include "zklock/client_options.hpp"
#include "zklock/option_fault.hpp"

#include <optional>

namespace zklock::detail {

/// What is wrong with the options, if anything. If nothing is, they get the form in which the layers below have them:
/// the chroot in its own member, and not behind the servers.
[[nodiscard]] std::optional<option_fault> check(client_options&);

} // namespace zklock::detail
