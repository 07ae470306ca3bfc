#include "counters/counters.hpp"

namespace zklock::counters {

handoff_metrics handoff_counters::read() const noexcept
{
    handoff_metrics m;
    m.taken = taken.read();
    m.given = given.read();
    m.not_listed = not_listed.read();
    m.not_tried = not_tried.read();
    m.no_answer = no_answer.read();
    m.refused = refused.read();
    m.over_share = over_share.read();
    m.accept_pauses = accept_pauses.read();
    m.listens = listens.read() != 0;
    m.connected_to = connected_to.read();
    m.connected_from = connected_from.read();
    return m;
}

} // namespace zklock::counters
