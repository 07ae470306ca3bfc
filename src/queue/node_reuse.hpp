#pragma once
#include "queue/known_queue.hpp"

#include <algorithm>

namespace zklock::queue {

/// Whether the node of one contender may serve others of this client after it.
struct reuse {
    bool linger = false; ///< a node that nobody waits behind stays for the next contender
    unsigned cohort = 1; ///< how many may use it in succession where others may be waiting
};

/// Decides whether a node stays when its contender has held.
class node_reuse {
public:
    explicit node_reuse(reuse allowed) : allowed_(allowed) {}

    /// Others may have queued since a node was left to linger.
    void disturb() noexcept { disturbed_ = true; }
    /// One was granted: if its node is to stay, the others will be looked for.
    void granted() noexcept { disturbed_ = false; }

    /// No further node is to be created now. Where nodes are passed on, one is enough, and the next one queues while
    /// the last of the cohort holds.
    [[nodiscard]] bool spares_a_node(const own_contenders&) const;
    /// How many more may use the node of one whose token can count that many grants more.
    [[nodiscard]] unsigned cohort_left(unsigned further_grants) const
    {
        return std::min(allowed_.cohort - 1, further_grants);
    }
    /// Whether the node of a holder that gives the lock back may serve another contender of this client.
    [[nodiscard]] bool may_stay(const known_queue&, const contender&) const;
    /// Whether a node may stay without counting on its cohort: nobody else is known to be behind it.
    [[nodiscard]] bool undisturbed(const known_queue&, const contender&) const;

private:
    const reuse allowed_;
    bool disturbed_ = false;
};

} // namespace zklock::queue
