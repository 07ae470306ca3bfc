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
#include <optional>
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
    /// Nodes that are on offer no more are known for so long, or until most_kept others are, since those who wait may
    /// have been on their way here.
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
    /// The secrets that a node was let go with, while it is kept.
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
    struct own_node {
        std::vector<peer_id> peers;              ///< who subscribes to it, or was told
        std::optional<time_point> kept_until;    ///< it is on offer no more
        std::vector<store::node_secret> secrets; ///< once it is published
    };

    using nodes = std::unordered_map<node_id, own_node, node_id_hash>;

    [[nodiscard]] const own_node* find(const node_id& node) const;
    [[nodiscard]] own_node* find(const node_id& node) { return const_cast<own_node*>(std::as_const(*this).find(node)); }
    void forget(peer_id peer, const node_id& node);
    void move_to_kept();
    void forget_kept(time_point now);

    static constexpr std::size_t most_recent = 16; ///< that are on offer no more

    counters::counter& told_;
    token_bucket vain_{most_vain, vain_each};
    /// Those that are on offer, and the last that were. The thousands that are only kept are apart, lest each acquire and
    /// each release look for its node in memory that no cache of the processor has.
    nodes recent_;
    nodes kept_;
    std::deque<node_id> kept_in_order_; ///< all that are on offer no more; one twice that was offered again meanwhile
    std::size_t kept_of_recent_ = 0;    ///< so many of those, the last, are in recent_ still
    std::map<peer_id, std::set<node_id>> of_peers_; ///< what each subscribes to
};

} // namespace zklock::bridge::peering
