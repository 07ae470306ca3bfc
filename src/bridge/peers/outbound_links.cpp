#include "bridge/peers/outbound_links.hpp"

#include <utility>

namespace zklock::bridge::peering {

outbound_links::outbound_links(links_owner& whose, const std::vector<network>& listed, told_secrets& told,
                               const store::logger& log, counters::handoff_counters& counted)
    : links(whose), told_(told), log_(log), counted_(counted), asks_nobody_(listed.empty()), bounds_(networks(listed))
{
}

void outbound_links::subscribe(const node_id& node, const endpoint& to)
{
    const auto now = lease_clock::now();
    auto* const peer = connection_to(to, now);
    if (!peer)
        return;
    subscribed_.insert_or_assign(node, to);
    flush_soon(to, *peer);
    peer->says.want(node, now, peer->to->out());
}

void outbound_links::unsubscribe(const node_id& node)
{
    const auto found = subscribed_.find(node);
    if (found == subscribed_.end())
        return;
    const auto to = found->second;
    subscribed_.erase(found);
    const auto peer = all().find(to);
    if (peer == all().end())
        return;
    flush_soon(to, peer->second);
    peer->second.says.want_no_more(node, lease_clock::now(), peer->second.to->out());
}

/// The connection that there is, or a new one; null if the bounds allow none.
linked<outbound>* outbound_links::connection_to(const endpoint& to, time_point now)
{
    const auto known = all().find(to);
    if (known != all().end())
        return &known->second;
    if (!bounds_.in_network(to)) {
        note_not_listed(to, now);
        return nullptr;
    }
    if (!bounds_.permit(to, now) || (bounds_.full() && !make_room()) || !bounds_.begin(to, now)) {
        counted_.not_tried.add();
        return nullptr;
    }
    const auto made = make_link(to);
    if (made->connect(to)) { // no descriptor
        made->close();
        bounds_.ended(false);
        counted_.not_tried.add();
        return nullptr;
    }
    auto commit = [this](const store::node_secret& secret) { return told_.keep(secret); };
    owner().look_at_all_later();
    return &all().emplace(to, linked<outbound>{made, outbound(std::move(commit), now)}).first->second;
}

/// Ends the connection that was idle for longest, if there is an idle one.
bool outbound_links::make_room()
{
    auto oldest = all().end();
    for (auto each = all().begin(); each != all().end(); ++each) {
        const auto& says = each->second.says;
        if (says.greeted() && says.idle() &&
            (oldest == all().end() || says.used_last() < oldest->second.says.used_last()))
            oldest = each;
    }
    if (oldest == all().end())
        return false;
    drop(oldest->first);
    return true;
}

void outbound_links::came(endpoint to, bytes in)
{
    const auto found = all().find(to);
    if (found == all().end())
        return;
    auto& [over, says, to_flush] = found->second;
    std::vector<outbound::proof> heard;
    const bool greeted = says.greeted();
    const bool ends = says.receive(in, lease_clock::now(), over->out(), heard) == verdict::hang_up;
    if (!over->out().empty())
        flush_soon(to, found->second);
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
        if (owner().alive())
            owner().observer().on_certificate(each.secret);
}

/// Who lists nobody means to ask nobody.
void outbound_links::note_not_listed(const endpoint& to, time_point now)
{
    counted_.not_listed.add();
    if (asks_nobody_ || !log_.on(log_level::warning))
        return;
    const auto left_out = not_listed_told_.say(now);
    if (!left_out)
        return;
    log_(log_level::warning, "does not ask the client at ", text_of(to), ": its address is in none of handoff.peers",
         store::times_left_out{*left_out});
}

void outbound_links::note_unanswered(const endpoint& to)
{
    counted_.no_answer.add();
    if (log_.on(log_level::debug))
        log_(log_level::debug, "no other client answers at ", text_of(to));
}

/// What was waited for there is left to the servers: another attempt may come with another subscription.
void outbound_links::drop(const endpoint& given)
{
    const auto found = all().find(given);
    if (found == all().end())
        return;
    const endpoint to = found->first; // `given` may go with the connection
    if (found->second.says.greeted())
        counted_.connected_to.subtract_one();
    else
        note_unanswered(to);
    found->second.to->close();
    bounds_.ended(found->second.says.greeted());
    all().erase(found);
    std::erase_if(subscribed_, [&](const auto& each) { return each.second == to; });
}

} // namespace zklock::bridge::peering
