#pragma once
#include "bridge/peers/addresses.hpp"
#include "bridge/peers/connect_bounds.hpp"
#include "bridge/peers/inbound.hpp"
#include "bridge/peers/links.hpp"
#include "bridge/peers/offers.hpp"
#include "counters/counters.hpp"
#include "runtime/unique_fd.hpp"
#include "store/logger.hpp"
#include "store/peers.hpp"
#include "store/repeats.hpp"

#include <span>
#include <vector>

namespace zklock::bridge::peering {

struct inbound_link : linked<inbound> {
    address from;
};

/// Those who connect to us: whom there is a place for, what they subscribe to, and what they are told.
class inbound_links final : public links<offers::peer_id, inbound_link> {
public:
    using peer_id = offers::peer_id;

    inbound_links(links_owner&, offers&, const store::logger&, counters::handoff_counters&);

    void add(runtime::unique_fd, const endpoint& from);
    /// What they subscribe to is on offer no more: tells them those secrets, if any.
    void answer(const std::vector<peer_id>& subscribers, std::span<const store::node_secret> told);

private:
    void turn_away(runtime::unique_fd, const endpoint& from, inbound_places::answer, time_point now);
    void came(peer_id, bytes) override;
    void drop(const peer_id&) noexcept override;
    void hang_up(const peer_id&) noexcept override;
    void refuse(peer_id) noexcept;

    offers& offers_;
    const store::logger& log_;
    counters::handoff_counters& counted_;
    inbound_places places_;
    peer_id last_id_ = 0;
    store::repeats refusals_told_;
};

} // namespace zklock::bridge::peering
