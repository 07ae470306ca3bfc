#pragma once
#include "bridge/peers/addresses.hpp"
#include "bridge/peers/connect_bounds.hpp"
#include "bridge/peers/links.hpp"
#include "bridge/peers/node_id.hpp"
#include "bridge/peers/outbound.hpp"
#include "bridge/peers/secrets.hpp"
#include "counters/counters.hpp"
#include "store/logger.hpp"
#include "store/repeats.hpp"

#include <map>
#include <vector>

namespace zklock::bridge::peering {

/// Those to whom we connect, within the bounds, because a node says that its client is there: what we wait for, and
/// what they prove.
class outbound_links final : public links<endpoint, linked<outbound>> {
public:
    /// Connects within those networks only.
    outbound_links(links_owner&, const std::vector<network>&, told_secrets&, const store::logger&,
                   counters::handoff_counters&);

    void subscribe(const node_id&, const endpoint& to);
    void unsubscribe(const node_id&);

private:
    [[nodiscard]] linked<outbound>* connection_to(const endpoint&, time_point now);
    [[nodiscard]] bool make_room();
    void came(endpoint, bytes) override;
    void drop(const endpoint&) override;
    void note_not_listed(const endpoint&, time_point now);
    void note_unanswered(const endpoint&);

    told_secrets& told_;
    const store::logger& log_;
    counters::handoff_counters& counted_;
    const bool asks_nobody_;
    connect_bounds bounds_;
    std::map<node_id, endpoint> subscribed_;
    store::repeats not_listed_told_;
};

} // namespace zklock::bridge::peering
