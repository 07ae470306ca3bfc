#pragma once
#include "zklock/client_options.hpp"

#include <optional>

namespace zklock::detail {

// options_check.cpp also has zklock::find_fault() of client_options; those of locks are in
// recipes/*/*_option_faults.cpp.

/// What is wrong with the options, if anything. If nothing is, they get the form in which the layers below have them:
/// the chroot in its own member, not behind the servers, and empty if it is `/`.
[[nodiscard]] std::optional<option_fault> check(client_options&);

} // namespace zklock::detail
