#pragma once
#include "bridge/peers/acceptor.hpp"
#include "bridge/peers/addresses.hpp"
#include "bridge/peers/inbound_links.hpp"
#include "bridge/peers/link.hpp"
#include "bridge/peers/links.hpp"
#include "bridge/peers/offers.hpp"
#include "bridge/peers/outbound_links.hpp"
#include "bridge/peers/secrets.hpp"
#include "bridge/peers/settings.hpp"
#include "counters/counters.hpp"
#include "runtime/client_store.hpp"
#include "runtime/strand.hpp"
#include "runtime/turns.hpp"
#include "store/logger.hpp"
#include "store/peers.hpp"
#include "store/scheduler.hpp"

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <boost/container/static_vector.hpp>

namespace zklock::bridge::peering {

/// The peers of a client over TCP, on its strand: it listens, makes nodes that others may subscribe to, and has turns
/// and time for its connections to them.
///
/// What a turn publishes first leaves at once, mostly, and what it publishes later at its end, right before what the
/// store holds back; with more connections than `most_sent_in_a_turn`, some of it leaves in the turns after that.
///
/// Everything is called on the strand, but the constructor. Its owner stops it; until then it keeps the executor in
/// work.
class network_peers final : public runtime::client_peers,
                            public runtime::turns::finisher,
                            private links_owner,
                            public std::enable_shared_from_this<network_peers> {
public:
    /// The address from which the client is connected to its server, while it is.
    using local_address = std::function<std::optional<address>()>;

    /// Uses counters and log until it is stopped.
    network_peers(const runtime::strand&, std::shared_ptr<runtime::turns>, store::scheduler&, settings,
                  const store::log_function& log, counters::handoff_counters&, local_address);

    /// Begins to listen.
    void attach(store::peers_observer&) override;
    /// Where other clients are told to come; empty if they cannot. The log has it whenever it changes.
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

    void stop(bool told_of_fork = false) noexcept override;

    /// For tests: those under way, too.
    [[nodiscard]] std::size_t outbound_count() const noexcept { return outbound_.size(); }

private:
    static constexpr int most_sent_in_a_turn = 16; ///< to those who connect to us, and as many to others
    struct told_endpoint {
        peering::endpoint is;
        std::string text; ///< empty if others cannot reach it
    };

    [[nodiscard]] std::shared_ptr<void> keep() override { return shared_from_this(); }
    [[nodiscard]] bool alive() const noexcept override;
    [[nodiscard]] std::shared_ptr<link> make_link(link::events) override;
    void finish_turn_later() override;
    void look_at_all_later() noexcept override { looks_due_ = true; }
    [[nodiscard]] store::peers_observer& observer() const noexcept override { return *observer_; }

    void tell_endpoint(const peering::endpoint& now, const peering::endpoint& bound) const;
    void make_ahead();
    void turn_ends() override;
    void send_first();
    void send();
    void look_at_all(time_point now);
    void note_listening() noexcept;
    void wake_at_next();
    void post_a_turn();

    std::optional<runtime::strand> strand_; ///< nothing once it is stopped
    const std::shared_ptr<runtime::turns> turns_;
    store::scheduler& scheduler_;
    const settings settings_;
    const store::log_function log_function_;
    const store::logger log_{log_function_};
    counters::handoff_counters& counted_;
    const unsigned forks_;
    store::peers_observer* observer_ = nullptr;
    const local_address local_address_;
    mutable std::optional<told_endpoint> told_endpoint_; ///< what endpoint() has given last

    secret_source secrets_;
    told_secrets told_{secrets_};
    offers offers_{counted_.given};
    boost::container::static_vector<store::own_node, secret_source::at_once> ahead_; ///< what make_node() gives next

    std::shared_ptr<acceptor> acceptor_;
    inbound_links inbound_{*this, offers_, log_, counted_};
    outbound_links outbound_{*this, settings_.peers, told_, log_, counted_};

    int left_in_turn_ = most_sent_in_a_turn; ///< so many of inbound_ may still be served in this turn
    store::scheduler::timer_id timer_ = 0;
    time_point waking_ = time_point::max();
    std::exception_ptr thrown_; ///< where that was not allowed: the end of the turn throws it
    bool looks_due_ = false;    ///< the timer fired, or there is a connection more that may be silent
    runtime::wake_up end_of_turn_{[this] {
        if (alive())
            turns_->run([] {});
    }};
};

} // namespace zklock::bridge::peering
