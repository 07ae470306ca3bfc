#pragma once
#include "store/logger.hpp"

namespace zklock::runtime {

/// What the environment variable ZKLOCK_LOG asks for: a function that writes to stderr, or an empty one. A value that
/// is none of the levels is told on stderr, once in the process, and ignored.
[[nodiscard]] store::log_function log_of_environment();

} // namespace zklock::runtime
