#pragma once
#include "adapter/client/client_core.hpp"
#include "adapter/client/client_state.hpp"
#include "zklock/errc.hpp"

namespace zklock::detail {

/// Has the log told, at level warning, what the servers have denied, if that is how something has ended: the error says
/// neither what was asked nor of which node. Called on the strand.
template <class... Parts> void log_denial(const client_state& client, error_code ec, const Parts&... what) noexcept
{
    if (const auto* const core = client.open_core(); core && ec == errc::access_denied)
        core->session.log(log_level::warning, "access denied by the servers: ", what...);
}

} // namespace zklock::detail
