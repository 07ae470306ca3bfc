#pragma once
#include "bridge/peers/frames.hpp"
#include "bridge/peers/node_id.hpp"
#include "bridge/peers/token_bucket.hpp"
#include "counters/counters.hpp"
#include "store/peers.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include <boost/circular_buffer.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

namespace zklock::bridge::peering {

/// Our nodes that others may subscribe to, and who does. What others name is looked up here, and never stored.
///
/// A client makes a node for each acquire, and most of them nobody ever asks for. So a node has a place, in which it
/// is found without a look, and whose memory serves again for later ones. What others name is found by an index. Most
/// clients are never asked for anything: so it is made when somebody subscribes for the first time, or tries to, and
/// stays.
class offers {
public:
    /// A connection of somebody who subscribes. No two have the same.
    using peer_id = std::uint64_t;
    /// Of a node, from when it is offered until it is published or withdrawn.
    using place = std::uint32_t;

    static constexpr std::size_t most_subscribers = 256; ///< of a node
    /// To subscribe, and to be told, costs the client some 16 us. So many may wait for a node at any time: those right
    /// behind it. More (readers behind a writer, or strangers who ask for each node of a hot queue) may do so that
    /// often, of all nodes together: a twelfth of a processor.
    static constexpr std::size_t few_subscribers = 4;
    static constexpr int most_in_crowds = 4096;
    static constexpr std::chrono::microseconds in_a_crowd_each{200};
    static constexpr std::size_t most_of_a_peer = most_subscriptions; ///< nodes that one subscribes to
    /// Nodes that are on offer no more are known for so long, since those who wait may have been on their way here.
    /// When there are too many of them, the oldest are forgotten sooner: they would take the memory of the processor's
    /// caches, and make each acquire slower, for the few who come that late and hear from the servers instead.
    static constexpr std::chrono::seconds kept_for{5};
    static constexpr std::size_t most_kept = 1024;
    static constexpr std::size_t forgotten_at_once = 64;

    /// What leads to nothing costs the client a turn: so much of it may all connections together say. Beyond that, each
    /// that says one thing more is hung up on: hand-offs are then as slow as without, and heartbeats are not.
    static constexpr int most_vain = 16'384;
    static constexpr std::chrono::microseconds vain_each{50};

    /// `given` counts the subscriptions that are answered by a certificate.
    explicit offers(counters::counter& given) : given_(given) {}
    offers& operator=(offers&&) = delete;

    /// The node is on offer from now on, for the first time.
    [[nodiscard]] place offer(const node_id&);
    [[nodiscard]] const node_id& id(place p) const noexcept { return nodes_[p].id; }
    /// The node is on offer no more. Both return who subscribed to it.
    std::vector<peer_id> withdraw(place, time_point now);
    /// They are to be told its secret, and before that those of nodes before it, `most_nodes_before` at most.
    std::vector<peer_id> publish(place, const store::node_secret&, std::span<const store::node_secret> of_nodes_before,
                                 time_point now);
    [[nodiscard]] bool awaited(place) const;

    enum class answer {
        unknown, ///< no node of ours, or one of long ago
        full,    ///< there are most_subscribers, or too many in crowds, or it has subscribed to most_of_a_peer
        known,   ///< nothing changes: the peer subscribes already, or was told, or the node was withdrawn
        added,
        awaited, ///< added, and the first
        gone     ///< it is let go: the secrets are in kept_secrets()
    };
    [[nodiscard]] answer subscribe(const node_id&, peer_id, time_point now);
    /// The secrets that a node was let go with, its own as the last, while it is kept; until the next one is given
    /// back. Of no node before the index is there.
    [[nodiscard]] std::span<const store::node_secret> kept_secrets(const node_id&) const;
    /// Whether it did subscribe.
    bool unsubscribe(const node_id&, peer_id);
    /// The connection has ended.
    void forget(peer_id);

    [[nodiscard]] bool awaited(const node_id&) const;
    [[nodiscard]] bool subscribes(peer_id) const;

    /// Whether somebody may say now what leads to nothing; if so, it counts as said.
    [[nodiscard]] bool permit_vain(time_point now) noexcept { return vain_.take(now); }

    /// For tests: how many secrets of nodes that are kept there are now, and some that nobody needs any more.
    [[nodiscard]] std::size_t secrets_there() const noexcept { return told_secrets_.size(); }
    /// For tests: of the index.
    [[nodiscard]] std::size_t bucket_count() const { return by_id_ ? by_id_->bucket_count() : 0; }

private:
    enum class state : std::uint8_t { free, on_offer, kept };
    struct entry {
        node_id id;
        std::vector<peer_id> peers; ///< who subscribes to it, or was told
        std::uint64_t in_kept = 0;  ///< if it is kept: where, counted from the first that ever was
        state is = state::free;
    };
    struct kept_node {
        place at;
        std::uint32_t told_count; ///< secrets; none if it was withdrawn
        std::uint64_t told_from;  ///< the first, counted from the first that was ever told
        time_point until;
    };
    using index = boost::unordered_flat_map<node_id, entry*>;
    static constexpr std::size_t first_kept = 64; ///< room for them; it is doubled

    void make_place();
    void make_index();
    [[nodiscard]] entry* find(const node_id&) const;
    void free(place) noexcept;
    std::vector<peer_id> take_back(place, time_point now, std::span<const store::node_secret> of_nodes_before,
                                   const store::node_secret*);
    [[nodiscard]] std::uint64_t put_last(std::span<const store::node_secret>);
    [[nodiscard]] std::uint64_t no_earlier() const noexcept;
    void forget_kept(time_point now) noexcept;
    [[nodiscard]] const kept_node& kept(const entry& n) const { return kept_[n.in_kept - forgotten_]; }
    [[nodiscard]] std::uint64_t told_end() const noexcept { return told_begin_ + told_secrets_.size(); }
    void forget(peer_id, entry&) noexcept;
    [[nodiscard]] bool has_room(const entry&, time_point now) noexcept;

    counters::counter& given_;
    token_bucket vain_{most_vain, vain_each};
    token_bucket in_crowds_{most_in_crowds, in_a_crowd_each};
    std::deque<entry> nodes_;                            ///< by their places
    std::vector<place> free_;                            ///< with room for all of them
    std::optional<index> by_id_;                         ///< all but those whose places are free; see make_index()
    boost::circular_buffer<kept_node> kept_{first_kept}; ///< all that are on offer no more, the oldest first
    std::uint64_t forgotten_ = 0;                        ///< so many were before those
    /// Of those. Who lets go of one node after another tells those before it again each time: these stand here once, as
    /// long as no node of another path comes in between.
    std::vector<store::node_secret> told_secrets_;
    std::uint64_t told_begin_ = 0;                 ///< so many were before those
    std::map<peer_id, std::set<entry*>> of_peers_; ///< what each subscribes to
};

} // namespace zklock::bridge::peering
