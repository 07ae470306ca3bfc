#pragma once
#include "zklock/client_options.hpp"
#include "zklock/option_fault.hpp"

namespace zklock::detail {

/// Options without fault, in the form in which the layers below have them: the chroot in its own member, and not behind
/// the servers.
[[nodiscard]] client_options in_parts(client_options);

} // namespace zklock::detail
