#pragma once
#include "store/logger.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace zklock::detail {

/// What the parts of one client write to: each line begins with who the client is, and with its session, which may be
/// over. A line that comes again and again is told ever more rarely, with a count.
///
/// @param to The log function that a client's options ask for; without one, what the environment asks for.
/// @param session Gives the present session's id, or 0.
///
/// Called on the client's strand.
[[nodiscard]] store::log_function client_log(store::log_function to, std::string identifier,
                                             std::function<std::int64_t()> session);

} // namespace zklock::detail
