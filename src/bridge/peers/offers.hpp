#pragma once
#include "bridge/peers/frames.hpp"
#include "bridge/peers/node_id.hpp"
#include "bridge/peers/token_bucket.hpp"
#include "counters/counters.hpp"
#include "store/peers.hpp"
#include "zklock/lease_clock.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace zklock::bridge::peering {

/// Our nodes that others may subscribe to, and who does. What others name is looked up here, and never stored.
class offers {
public:
    using time_point = lease_clock::time_point;
    /// A connection of somebody who subscribes. No two have the same.
    using peer_id = std::uint64_t;

    static constexpr std::size_t most_subscribers = 256;              ///< of a node
    static constexpr std::size_t most_of_a_peer = most_subscriptions; ///< nodes that one subscribes to
    /// Nodes that are on offer no more are known for so long, since those who wait may have been on their way here.
    static constexpr std::chrono::seconds kept_for{5};
    static constexpr std::size_t most_kept = 4096;

    /// What leads to nothing costs the client a turn: so much of it may all connections together say. Beyond that, each
    /// that says one thing more is hung up on: hand-offs are then as slow as without, and heartbeats are not.
    static constexpr int most_vain = 16'384;
    static constexpr std::chrono::microseconds vain_each{50};

    /// `told` counts the subscriptions that are answered by a certificate.
    explicit offers(counters::counter& told) : told_(told) {}

    void offer(const node_id& node);
    /// The node is on offer no more. Both return who subscribed to it.
    std::vector<peer_id> withdraw(const node_id& node, time_point now) { return publish(node, {}, now); }
    /// They are to be told those secrets.
    std::vector<peer_id> publish(const node_id& node, std::vector<store::node_secret> secrets, time_point now);

    enum class answer {
        unknown, ///< no node of ours, or one of long ago
        full,    ///< there are most_subscribers, or it has subscribed to most_of_a_peer
        known,   ///< nothing changes: the peer subscribes already, or was told, or the node was withdrawn
        added,
        awaited, ///< added, and the first
        gone     ///< it is let go: the secrets are in kept_secrets()
    };
    [[nodiscard]] answer subscribe(const node_id& node, peer_id peer, time_point now);
    /// Gives the secrets of the node for which subscribe() has just said that it is gone.
    [[nodiscard]] std::span<const store::node_secret> kept_secrets(const node_id& node) const;
    /// Whether it did subscribe.
    bool unsubscribe(const node_id& node, peer_id peer);
    /// The connection has ended.
    void forget(peer_id peer);

    [[nodiscard]] bool awaited(const node_id& node) const;
    [[nodiscard]] bool subscribes(peer_id peer) const;

    /// Whether somebody may say now what leads to nothing; if so, it counts as said.
    [[nodiscard]] bool permit_vain(time_point now) noexcept { return vain_.take(now); }

private:
    void forget(peer_id peer, const node_id& node);
    struct kept {
        time_point until;
        std::vector<store::node_secret> secrets; ///< none if the node was withdrawn
        std::vector<peer_id> told;
    };
    void keep(const node_id& node, kept what);
    void forget_kept(time_point now);

    counters::counter& told_;
    token_bucket vain_{most_vain, vain_each};
    std::unordered_map<node_id, std::vector<peer_id>, node_id_hash> on_offer_; ///< with who subscribes
    std::map<peer_id, std::set<node_id>> of_peers_; ///< what each subscribes to
    std::unordered_map<node_id, kept, node_id_hash> kept_;
    std::deque<node_id> kept_in_order_;
};

} // namespace zklock::bridge::peering
