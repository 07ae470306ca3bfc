#pragma once
#include "zklock/client_options.hpp"
#include "zklock/option_fault.hpp"

namespace zklock::detail {

// options_check.cpp also has zklock::find_fault() of client_options; those of locks are in
// recipes/*/*_option_faults.cpp.

/// Options without fault, in the form in which the layers below have them: the chroot in its own member, and not behind
/// the servers.
[[nodiscard]] client_options in_parts(client_options);

} // namespace zklock::detail
