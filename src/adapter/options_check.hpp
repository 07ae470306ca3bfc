#pragma once
#include "zklock/client_options.hpp"
#include "zklock/result.hpp"

namespace zklock::detail {

/// `errc::invalid_option` if any of the options is out of its range.
[[nodiscard]] error_code check(const client_options&);

} // namespace zklock::detail
