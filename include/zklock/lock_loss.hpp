// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/named_enum.hpp"
#include "zklock/lease_clock.hpp"

#include <cstdint>
#include <string_view>

namespace zklock {

/// Why a lock was lost that was held. A holder that is asked to let go (`guard::wait_revoked()`) goes on holding: that
/// is no loss.
enum class loss_reason : std::uint8_t {
    lease_ended,           ///< nothing heard of the servers for too long; or this process did not run
    session_expired,       ///< the servers have ended the session
    node_deleted,          ///< somebody else has deleted the lock's node
    client_closed,         ///< the client was closed or has failed, or its execution context was destroyed
    authentication_failed, ///< all servers that answered have refused the credentials at a reconnect
    forked                 ///< this process is a fork: the lock is still its parent's, as far as this process knows
};

/// The reason's name, as it is spelt above; it is valid for ever. May be called from any thread.
[[nodiscard]] constexpr std::string_view to_string(loss_reason why) noexcept
{
    switch (why) {
    case loss_reason::lease_ended: return "lease_ended";
    case loss_reason::session_expired: return "session_expired";
    case loss_reason::node_deleted: return "node_deleted";
    case loss_reason::client_closed: return "client_closed";
    case loss_reason::authentication_failed: return "authentication_failed";
    case loss_reason::forked: return "forked";
    }
    return "unknown";
}

/// How a lock was lost.
struct lock_loss {
    loss_reason reason = loss_reason::lease_ended; ///< why
    lease_clock::duration held{};                  ///< from the grant to the loss
    lease_clock::duration unheard{};               ///< how long before the loss the servers' leader was last heard of
};

} // namespace zklock
