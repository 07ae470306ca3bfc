// Those to whom we connect, because a node says that its client is there.
#include "bridge/peers/network_peers.hpp"

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <utility>

namespace zklock::bridge::peering {

void network_peers::subscribe(const store::commitment& node, std::string_view where)
{
    if (!alive())
        return;
    unsubscribe(node); // elsewhere
    const auto id = id_of(node);
    const auto to = parse_endpoint(where);
    if (!id || !to)
        return;
    const auto now = lease_clock::now();
    outbound_peer* const peer = connection_to(*to, now);
    if (!peer)
        return;
    subscribed_.insert_or_assign(*id, *to);
    flush_soon(outbounds_to_flush_, *to, *peer);
    peer->says.want(*id, now, peer->to->out());
    finish_turn_later();
}

void network_peers::unsubscribe(const store::commitment& node)
{
    if (!alive())
        return;
    const auto id = id_of(node);
    const auto found = id ? subscribed_.find(*id) : subscribed_.end();
    if (found == subscribed_.end())
        return;
    const auto to = found->second;
    subscribed_.erase(found);
    const auto peer = outbounds_.find(to);
    if (peer == outbounds_.end())
        return;
    flush_soon(outbounds_to_flush_, to, peer->second);
    peer->second.says.want_no_more(*id, lease_clock::now(), peer->second.to->out());
    finish_turn_later();
}

/// The connection that there is, or a new one; null if the bounds allow none.
auto network_peers::connection_to(const peering::endpoint& to, time_point now) -> outbound_peer*
{
    const auto known = outbounds_.find(to);
    if (known != outbounds_.end())
        return &known->second;
    if (!bounds_.in_network(to)) {
        note_not_listed(to, now);
        return nullptr;
    }
    if (!bounds_.permit(to, now) || (bounds_.full() && !make_room()) || !bounds_.begin(to, now)) {
        counted_.not_tried.add();
        return nullptr;
    }
    const auto made = std::make_shared<link>(*strand_, turns_,
                                             link::events{[weak = weak_from_this(), to](bytes in) {
                                                              if (const auto self = weak.lock())
                                                                  self->came_out(to, in);
                                                          },
                                                          [weak = weak_from_this(), to] {
                                                              if (const auto self = weak.lock())
                                                                  self->drop(to);
                                                          }});
    try {
        made->connect(to);
    } catch (const boost::system::system_error&) { // no descriptor
        made->close();
        bounds_.ended(false);
        counted_.not_tried.add();
        return nullptr;
    }
    auto commit = [this](const store::node_secret& secret) { return told_.keep(secret); };
    looks_due_ = true;
    return &outbounds_.emplace(to, outbound_peer{made, outbound(std::move(commit), now)}).first->second;
}

/// Ends the connection that was idle for longest, if there is an idle one.
bool network_peers::make_room()
{
    auto oldest = outbounds_.end();
    for (auto each = outbounds_.begin(); each != outbounds_.end(); ++each) {
        const auto& says = each->second.says;
        if (says.greeted() && says.idle() &&
            (oldest == outbounds_.end() || says.used_last() < oldest->second.says.used_last()))
            oldest = each;
    }
    if (oldest == outbounds_.end())
        return false;
    drop(peering::endpoint(oldest->first));
    return true;
}

void network_peers::came_out(peering::endpoint to, bytes in)
{
    const auto found = outbounds_.find(to);
    if (found == outbounds_.end())
        return;
    auto& [over, says, to_flush] = found->second;
    std::vector<outbound::proof> heard;
    const bool greeted = says.greeted();
    const bool ends = says.receive(in, lease_clock::now(), over->out(), heard) == verdict::hang_up;
    if (!over->out().empty())
        flush_soon(outbounds_to_flush_, to, found->second);
    if (!greeted && says.greeted()) {
        bounds_.connected();
        counted_.connected_to.add();
    }
    for (const auto& each : heard)
        if (each.asked_for)
            subscribed_.erase(each.of);
    if (ends)
        drop(to);
    for (const auto& each : heard)
        if (alive())
            observer_->on_certificate(each.secret);
}

/// Who lists nobody means to ask nobody.
void network_peers::note_not_listed(const peering::endpoint& to, time_point now)
{
    counted_.not_listed.add();
    if (settings_.peers.empty() || !log_.on(log_level::warning))
        return;
    const auto left_out = not_listed_told_.say(now);
    if (!left_out)
        return;
    log_(log_level::warning, "does not ask the client at ", text_of(to), ": its address is in none of handoff.peers",
         store::times_left_out{*left_out});
}

void network_peers::note_unanswered(const peering::endpoint& to)
{
    counted_.no_answer.add();
    if (log_.on(log_level::debug))
        log_(log_level::debug, "no other client answers at ", text_of(to));
}

/// What was waited for there is left to the servers: another attempt may come with another subscription.
void network_peers::drop(const peering::endpoint& given)
{
    const auto found = outbounds_.find(given);
    if (found == outbounds_.end())
        return;
    const peering::endpoint to = found->first; // `given` may go with the connection
    if (found->second.says.greeted())
        counted_.connected_to.subtract_one();
    else
        note_unanswered(to);
    found->second.to->close();
    bounds_.ended(found->second.says.greeted());
    outbounds_.erase(found);
    std::erase_if(subscribed_, [&](const auto& each) { return each.second == to; });
}

} // namespace zklock::bridge::peering
