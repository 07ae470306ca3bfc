#pragma once
#include "zklock/detail/named_enum.hpp"
#include "zklock/lease_clock.hpp"

#include <cstdint>
#include <string_view>

namespace zklock::recipes {

/// Why a lock was lost that was held.
enum class loss_reason : std::uint8_t {
    lease_ended,          ///< for too long nothing was heard of the servers, or this process did not run
    session_expired,      ///< the servers have ended the session
    node_deleted,         ///< by somebody else
    client_closed,        ///< while the lock was held
    authentication_failed ///< the servers have refused the credentials at a reconnect
};

/// The reason's name, as it is spelt above.
[[nodiscard]] constexpr std::string_view to_string(loss_reason why) noexcept
{
    switch (why) {
    case loss_reason::lease_ended: return "lease_ended";
    case loss_reason::session_expired: return "session_expired";
    case loss_reason::node_deleted: return "node_deleted";
    case loss_reason::client_closed: return "client_closed";
    case loss_reason::authentication_failed: return "authentication_failed";
    }
    return "unknown";
}

/// How a lock was lost.
struct loss {
    loss_reason why = loss_reason::lease_ended;
    lease_clock::duration held{};    ///< for how long
    lease_clock::duration unheard{}; ///< for how long nothing had come through the servers' leader
};

} // namespace zklock::recipes
