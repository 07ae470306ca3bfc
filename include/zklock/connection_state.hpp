// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/named_enum.hpp"

#include <cstdint>
#include <string_view>

namespace zklock {

/// Where a client stands with its ensemble.
enum class connection_state : std::uint8_t {
    connecting, ///< no session yet, or the last one expired and the next is being opened; or, with a session's id,
                ///< nothing was heard for so long that it should be over: it goes on if the servers still know it
    connected,  ///< a session is alive and a server answers
    suspended,  ///< the connection is gone, the session may still be alive: holders hold until their lease ends
    closed,     ///< close() was called, or the last handle went away
    failed      ///< an option is out of range, the servers refused the credentials, or memory failed in the client;
                ///< nothing will work any more
};

/// The state's name, as it is spelt above; it is valid for ever. May be called from any thread.
[[nodiscard]] constexpr std::string_view to_string(connection_state e) noexcept
{
    switch (e) {
    case connection_state::connecting: return "connecting";
    case connection_state::connected: return "connected";
    case connection_state::suspended: return "suspended";
    case connection_state::closed: return "closed";
    case connection_state::failed: return "failed";
    }
    return "unknown";
}

} // namespace zklock
