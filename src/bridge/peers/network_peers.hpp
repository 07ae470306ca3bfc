#pragma once
#include "bridge/peers/acceptor.hpp"
#include "bridge/peers/connect_bounds.hpp"
#include "bridge/peers/inbound.hpp"
#include "bridge/peers/link.hpp"
#include "bridge/peers/offers.hpp"
#include "bridge/peers/outbound.hpp"
#include "bridge/peers/secrets.hpp"
#include "bridge/peers/settings.hpp"
#include "counters/counters.hpp"
#include "runtime/strand.hpp"
#include "runtime/turns.hpp"
#include "store/logger.hpp"
#include "store/peers.hpp"
#include "store/scheduler.hpp"

#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/container/static_vector.hpp>

namespace zklock::bridge::peering {

/// The peers of a client over TCP, on its strand: it listens, connects to others within the bounds, and does with their
/// connections as `inbound` and `outbound` say.
///
/// What a turn publishes first leaves at once, mostly, and what it publishes later at its end, right before what the
/// store holds back; with more connections than `most_sent_in_a_turn`, some of it leaves in the turns after that.
///
/// Everything is called on the strand, but the constructor. Its owner stops it; until then it keeps the executor in
/// work.
class network_peers final : public store::peers,
                            public runtime::turns::finisher,
                            public std::enable_shared_from_this<network_peers> {
public:
    using time_point = lease_clock::time_point;
    /// The address from which the client is connected to its server, while it is.
    using local_address = std::function<std::optional<address>()>;

    /// Uses counters and log until it is stopped.
    network_peers(const runtime::strand&, std::shared_ptr<runtime::turns>, store::scheduler&, settings,
                  const store::log_function& log, counters::handoff_counters&, local_address);

    /// Begins to listen.
    void attach(store::peers_observer&) override;
    [[nodiscard]] std::string_view endpoint() const override;
    [[nodiscard]] store::commitment commitment_to(const store::node_secret& secret) const override
    {
        return text_of(told_.commitment_to(secret));
    }
    [[nodiscard]] store::own_node make_node() override;
    void withdraw(const store::own_node&) noexcept override;
    void publish(const store::own_node&, std::span<const store::node_secret> of_nodes_before) override;
    [[nodiscard]] bool awaited(const store::own_node&) const override;
    void subscribe(const store::commitment&, std::string_view endpoint) override;
    void unsubscribe(const store::commitment&) override;

    /// Ends everything now, and calls nobody and uses no executor afterwards. In a forked process, what is the parent's
    /// is left to it. `told_of_fork`: Asio has made kernel objects of its own for this process.
    void stop(bool told_of_fork = false) noexcept;

    /// What there is now, for tests.
    [[nodiscard]] std::size_t inbound_count() const noexcept { return inbounds_.size(); }
    [[nodiscard]] std::size_t outbound_count() const noexcept { return outbounds_.size(); }

private:
    using peer_id = offers::peer_id;
    static constexpr int most_sent_in_a_turn = 16; ///< to those who connect to us, and as many to others

    struct inbound_peer {
        std::shared_ptr<link> to;
        inbound says;
        address from;
        bool to_flush = false; ///< it is in inbounds_to_flush_
    };
    struct outbound_peer {
        std::shared_ptr<link> to;
        outbound says;
        bool to_flush = false; ///< it is in outbounds_to_flush_
    };

    [[nodiscard]] bool alive() const noexcept;
    // Those who connect to us.
    void accepted(int descriptor, const peering::endpoint& from);
    void turn_away(int descriptor, const peering::endpoint& from, inbound_places::answer, time_point now);
    void came_in(peer_id, bytes);
    void refuse(peer_id) noexcept;
    void drop(peer_id) noexcept;
    void make_ahead();
    void put_on_offer(store::own_node&, const node_id&);
    void answered(const std::vector<peer_id>&, std::span<const store::node_secret>);

    // Those to whom we connect.
    [[nodiscard]] outbound_peer* connection_to(const peering::endpoint&, time_point now);
    void note_not_listed(const peering::endpoint&, time_point now);
    [[nodiscard]] bool make_room();
    void came_out(peering::endpoint, bytes); // a copy: it goes with the connection
    void drop(const peering::endpoint&);
    void note_unanswered(const peering::endpoint&);

    // Both kinds: a key finds a connection in the map of its kind.
    template <class Key, class Peer> static void flush_soon(std::deque<Key>& to_flush, const Key& key, Peer& peer)
    {
        if (peer.to_flush)
            return;
        to_flush.push_back(key);
        peer.to_flush = true;
    }
    template <class Key, class Peer> void flush_some(std::deque<Key>& to_flush, std::map<Key, Peer>& peers, int& left);

    // Turns and time.
    void turn_ends() override;
    void send_first();
    void send();
    void look_at_all(time_point now);
    void wake_at_next();
    void finish_turn_later();
    void post_a_turn();

    std::optional<runtime::strand> strand_; ///< nothing once it is stopped
    const std::shared_ptr<runtime::turns> turns_;
    store::scheduler& scheduler_;
    const settings settings_;
    const store::log_function log_function_;
    const store::logger log_{log_function_};
    counters::handoff_counters& counted_;
    const local_address local_address_;
    const unsigned forks_;
    store::peers_observer* observer_ = nullptr;
    secret_source secrets_;
    told_secrets told_{secrets_};

    std::shared_ptr<acceptor> acceptor_;
    offers offers_{counted_.given};
    inbound_places places_;
    boost::container::static_vector<store::own_node, secret_source::at_once> ahead_; ///< what make_node() gives next
    std::map<peer_id, inbound_peer> inbounds_;
    peer_id last_id_ = 0;
    store::repeats refusals_told_;

    connect_bounds bounds_;
    std::map<peering::endpoint, outbound_peer> outbounds_;
    std::map<node_id, peering::endpoint> subscribed_;
    store::repeats not_listed_told_;

    std::deque<peer_id> inbounds_to_flush_;
    std::deque<peering::endpoint> outbounds_to_flush_;
    int left_in_turn_ = most_sent_in_a_turn; ///< so many of inbounds_ may still be served in this turn
    store::scheduler::timer_id timer_ = 0;
    time_point waking_ = time_point::max();
    std::exception_ptr thrown_; ///< where that was not allowed: the end of the turn throws it
    bool looks_due_ = false;    ///< the timer fired, or there is a connection more that may be silent
    runtime::wake_up end_of_turn_{[this] {
        if (alive())
            turns_->run([] {});
    }};

    void take_endpoint(const peering::endpoint&, const peering::endpoint& bound) const;
    mutable std::optional<peering::endpoint> told_endpoint_; ///< in endpoint_text_
    mutable std::string endpoint_text_;                      ///< empty if others cannot reach it
};

} // namespace zklock::bridge::peering
