// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/named_enum.hpp"
#include "zklock/detail/same_library.hpp"

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string_view>

namespace zklock {

/// How much a line of the log matters.
enum class log_level : std::uint8_t {
    error,   ///< nothing goes on until somebody acts: no server can be reached, credentials are refused
    warning, ///< the client goes on, but somebody has lost something, or is about to: a lock, a session, time;
             ///< and acquires that an outage has ended at their deadline
    info,    ///< what has changed: connections, sessions, revocations; and acquires that ended with `timed_out`
    debug    ///< what happens all the time: attempts to connect, acquires that ended without the lock for other
             ///< reasons than time, what the C client says
};

/// The level's name, as it is spelt above.
[[nodiscard]] constexpr std::string_view to_string(log_level level) noexcept
{
    switch (level) {
    case log_level::error: return "error";
    case log_level::warning: return "warning";
    case log_level::info: return "info";
    case log_level::debug: return "debug";
    }
    return "unknown";
}

/// A log function for `client_options::log` that writes to a file.
///
///     options.log = zklock::log_to(stderr);
///
/// A line begins with the time (UTC) and the level. It leaves by one write if the file's buffer has room for it, so
/// that lines of several clients, threads and processes do not mix: `2026-11-21T18:42:05.123Z warning host:4711
/// 0x100012ab: …`. Control characters are replaced. A line that cannot be written is dropped.
///
/// @param file Stays open as long as the function lives. Null: the function is empty.
/// @param most Lines of this level and of graver ones are written; the others are not even put together.
///
/// Thread safety: it may be called from any thread; one function may serve any number of clients.
[[nodiscard]] std::function<void(log_level, std::string_view)> log_to(std::FILE* file,
                                                                      log_level most = log_level::info);

/// The same for a function of one's own, which is called with the lines of these levels only. (Put into
/// `client_options::log` as it is, it is called with each line, and each is put together for it.)
///
///     options.log = zklock::log_to(my_function, zklock::log_level::warning);
///
/// @param to Empty: so is what is returned.
[[nodiscard]] std::function<void(log_level, std::string_view)>
log_to(std::function<void(log_level, std::string_view)> to, log_level most = log_level::info);

} // namespace zklock
