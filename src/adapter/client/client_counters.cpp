#include "adapter/client/client_counters.hpp"

namespace zklock::detail {

metrics client_counters::read(const client_status& of) const
{
    metrics m;
    m.state = of.state();
    m.reconnects = connection.reconnects.read();
    m.disconnects = connection.disconnects.read();
    m.expiries = connection.expiries.read();
    m.authentication_failures = connection.authentication_failures.read();
    m.requests = connection.requests.read();
    m.unseen = unseen_guards.counted();
    m.heartbeats = connection.heartbeats.read();
    m.heartbeat_delays = connection.heartbeat_delays.read();
    m.handoff = connection.handoff.read();
    m.by_name = locks.read();
    const bool ended = !of.alive(); // what was left over then is counted nowhere
    if (ended) {
        m.handoff.listens = false;
        m.handoff.connected_to = m.handoff.connected_from = 0;
    }
    for (lock_metrics& l : m.by_name) {
        if (ended)
            l.waiting = l.held = 0;
        m.all += l;
    }
    return m;
}

} // namespace zklock::detail
