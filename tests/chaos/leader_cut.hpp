#pragma once
#include "chaos/nemesis.hpp"
#include "support/admin_client.hpp"

namespace zklock::chaos {

/// Cuts a leader off from the other members at the moment that is worst for its clients: the others give their sessions
/// up as early as they ever do, and the leader notices as late as it ever does.
///
/// - The followers give the leader up `syncLimit` ticks after its last packet, and elect another one. The new leader
///   gives every session its whole time-out again, and then until the next multiple of a tick of CLOCK_MONOTONIC
///   (ExpiryQueue). So sessions end earliest when it takes over right before such a multiple.
/// - The old leader pings its followers twice a tick, and once a tick it looks whether they are still there. A follower
///   counts as there for `syncLimit` ticks after its last packet. So the old leader notices latest when it looks right
///   before that time is over.
///
/// The moment of the cut decides about the former. For the latter, the old leader's loop is shifted by a pause, so that
/// a ping comes right before the moment of the cut; between that ping and the cut there is a write, the last packet
/// that passes. Whether the loop looks in the turn of that ping is left to chance: it does in every other cut.
class leader_cut {
public:
    leader_cut(test::network& net, test::zookeeper_ensemble& ensemble, milliseconds tick, std::int64_t sync_limit,
               random_source& random);

    /// Shifts the leader's loop, while nobody uses the servers.
    void prepare(std::size_t leader);
    /// Waits for the moment, and cuts.
    void cut();
    /// To be called when the servers are healed. `granted` is when the first contender after the cut got a lock whose
    /// holder's session had this time-out. Returns whether that session ended as early as it could. Corrects how long
    /// the next cuts expect an election to take.
    bool learn(instant granted, milliseconds timeout);

private:
    using time_point = test::steady_clock::time_point;

    [[nodiscard]] std::size_t follower() const { return (leader_ + 1) % ensemble_.size(); }
    [[nodiscard]] std::size_t other() const { return (leader_ + 2) % ensemble_.size(); }
    [[nodiscard]] time_point next_ping();
    [[nodiscard]] time_point next_cut(time_point after) const;

    test::network& net_;
    test::zookeeper_ensemble& ensemble_;
    milliseconds tick_;
    milliseconds silence_;       ///< after so long the followers give the leader up
    milliseconds election_{350}; ///< from then until another has taken over
    random_source& random_;
    std::size_t leader_ = 0;
    instant cut_at_ = 0;
    std::optional<test::session_credentials> writer_;
};

} // namespace zklock::chaos
