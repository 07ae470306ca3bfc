#include "bridge/peers/offers.hpp"

#include <algorithm>

namespace zklock::bridge::peering {

void offers::offer(const node_id& node) { on_offer_.try_emplace(node); }

auto offers::publish(const node_id& node, std::vector<store::node_secret> secrets, time_point now)
    -> std::vector<peer_id>
{
    const auto found = on_offer_.find(node);
    if (found == on_offer_.end())
        return {};
    auto told = std::move(found->second);
    on_offer_.erase(found);
    for (const peer_id peer : told)
        forget(peer, node);
    forget_kept(now);
    const bool let_go = !secrets.empty();
    keep(node, {now + kept_for, std::move(secrets), told});
    if (let_go)
        told_.add(told.size());
    return told;
}

void offers::keep(const node_id& node, kept what)
{
    kept_in_order_.push_back(node);
    try {
        kept_.insert_or_assign(node, std::move(what));
    } catch (...) {
        kept_in_order_.pop_back();
        throw;
    }
}

void offers::forget_kept(time_point now)
{
    while (!kept_in_order_.empty()) {
        const auto oldest = kept_.find(kept_in_order_.front());
        if (oldest != kept_.end() && oldest->second.until > now && kept_in_order_.size() < most_kept)
            return;
        if (oldest != kept_.end())
            kept_.erase(oldest);
        kept_in_order_.pop_front();
    }
}

auto offers::subscribe(const node_id& node, peer_id peer, time_point now) -> answer
{
    const auto found = on_offer_.find(node);
    if (found == on_offer_.end()) {
        const auto gone = kept_.find(node);
        if (gone == kept_.end() || gone->second.until <= now)
            return answer::unknown;
        auto& told = gone->second.told;
        if (gone->second.secrets.empty() || std::ranges::find(told, peer) != told.end())
            return answer::known;
        if (told.size() >= most_subscribers)
            return answer::full;
        told.push_back(peer);
        told_.add();
        return answer::gone;
    }
    auto& subscribers = found->second;
    const auto its = of_peers_.find(peer);
    if (its != of_peers_.end() && its->second.contains(node))
        return answer::known;
    if (subscribers.size() >= most_subscribers || (its != of_peers_.end() && its->second.size() >= most_of_a_peer))
        return answer::full;
    subscribers.push_back(peer);
    try {
        of_peers_[peer].insert(node);
    } catch (...) {
        subscribers.pop_back();
        forget(peer, node);
        throw;
    }
    return subscribers.size() == 1 ? answer::awaited : answer::added;
}

std::span<const store::node_secret> offers::kept_secrets(const node_id& node) const
{
    const auto gone = kept_.find(node);
    return gone == kept_.end() ? std::span<const store::node_secret>() : gone->second.secrets;
}

bool offers::unsubscribe(const node_id& node, peer_id peer)
{
    const auto its = of_peers_.find(peer);
    if (its == of_peers_.end() || !its->second.contains(node))
        return false;
    forget(peer, node);
    std::erase(on_offer_.at(node), peer);
    return true;
}

void offers::forget(peer_id peer)
{
    const auto its = of_peers_.find(peer);
    if (its == of_peers_.end())
        return;
    for (const node_id& node : its->second)
        std::erase(on_offer_.at(node), peer);
    of_peers_.erase(its);
}

void offers::forget(peer_id peer, const node_id& node)
{
    const auto its = of_peers_.find(peer);
    if (its == of_peers_.end())
        return;
    its->second.erase(node);
    if (its->second.empty())
        of_peers_.erase(its);
}

bool offers::awaited(const node_id& node) const
{
    const auto found = on_offer_.find(node);
    return found != on_offer_.end() && !found->second.empty();
}

bool offers::subscribes(peer_id peer) const { return of_peers_.contains(peer); }

} // namespace zklock::bridge::peering
