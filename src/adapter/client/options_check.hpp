#pragma once
#include "zklock/access_list.hpp"
#include "zklock/client_options.hpp"
#include "zklock/option_fault.hpp"

#include <optional>

namespace zklock::detail {

// options_check.cpp also has zklock::find_fault() of client_options; those of locks are in
// recipes/*/*_option_faults.cpp.

/// What is wrong with the options, if anything. If nothing is, they get the form in which the layers below have them:
/// the chroot in its own member, and not behind the servers.
[[nodiscard]] std::optional<option_fault> check(client_options&);

/// The first digest in the list whose hash cannot be one, if there is such. Servers take any text for a hash, such as a
/// password: then the entry is for nobody, and anybody can read it who may read the list.
[[nodiscard]] std::optional<option_fault> find_digest_fault(const access_list&);

} // namespace zklock::detail
