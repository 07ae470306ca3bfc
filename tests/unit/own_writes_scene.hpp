#pragma once
// What the tests have in common of a session that goes on, and of what the servers have to know of its writes.
#include "session_scene.hpp"

namespace zklock::unit {

/// Over another connection: it is for the test to show what the servers have.
inline void take_up(scene& s, bool may_lag = false)
{
    s.lose_connection();
    s.reappear(may_lag);
    CHECK(s.session->state() == connection_state::suspended);
}

/// Whether the session goes on; else it is given up.
inline bool trusts(const scene& s)
{
    const bool began = s.session->state() == connection_state::connected;
    CHECK(began != s.servers.session_given_up);
    return began;
}

inline store::node_stat node_of(std::int64_t session, std::int64_t czxid)
{
    store::node_stat stat = scene::fresh(czxid);
    stat.ephemeral_owner = session;
    return stat;
}

inline store::node_stat of_this_session(std::int64_t czxid)
{
    return node_of(5, czxid);
}

} // namespace zklock::unit
