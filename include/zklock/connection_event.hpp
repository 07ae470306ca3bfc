// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/connection_state.hpp"
#include "zklock/lease_clock.hpp"
#include "zklock/result.hpp"

#include <cstdint>
#include <memory>

namespace zklock {

/// A client has come into another state: what a `connection_listener` is told.
struct connection_event {
    connection_state state = connection_state::connecting; ///< the new one
    std::int64_t session_id = 0;                           ///< 0 where there is none
    lease_clock::time_point at{};                          ///< when the client came into it
    /// How many events the listener has left out since the call before: see `listen_to_connection()`.
    std::uint64_t dropped = 0;
    /// Why the state is `failed`: `errc::authentication_failed`, `errc::invalid_option`, `not_enough_memory`
    /// (`boost::system::errc`), or `errc::closed`, where the client's executor has thrown. Else it is empty.
    error_code why{};
};

namespace detail {
template <class Event> class event_sink;
}

/// Who is told of a client's states: `client_options::listener`. Empty: nobody is told.
using connection_listener = std::shared_ptr<detail::event_sink<connection_event>>;

} // namespace zklock
