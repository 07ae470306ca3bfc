#include "bridge/peers/offers.hpp"

#include <algorithm>

namespace zklock::bridge::peering {

auto offers::find(const node_id& node) const -> const own_node*
{
    if (const auto recent = recent_.find(node); recent != recent_.end())
        return &recent->second;
    const auto gone = kept_.find(node);
    return gone == kept_.end() ? nullptr : &gone->second;
}

void offers::offer(const node_id& node)
{
    const auto [at, is_new] = recent_.try_emplace(node);
    if (!is_new && at->second.kept_until)
        at->second = {};
}

auto offers::publish(const node_id& node, std::vector<store::node_secret> secrets, time_point now)
    -> std::vector<peer_id>
{
    const auto found = recent_.find(node);
    if (found == recent_.end() || found->second.kept_until)
        return {};
    own_node& own = found->second;
    auto told = std::move(own.peers);
    for (const peer_id peer : told)
        forget(peer, node);
    try {
        own.peers = told;
        if (kept_of_recent_ == most_recent) {
            move_to_kept();
            forget_kept(now);
        }
        kept_in_order_.push_back(node);
    } catch (...) {
        recent_.erase(found);
        throw;
    }
    ++kept_of_recent_;
    own.kept_until = now + kept_for;
    own.secrets = std::move(secrets);
    if (!own.secrets.empty())
        told_.add(told.size());
    return told;
}

void offers::move_to_kept()
{
    kept_.reserve(kept_.size() + kept_of_recent_); // then nothing fails that is half done
    for (; kept_of_recent_ > 0; --kept_of_recent_) {
        const auto found = recent_.find(kept_in_order_.end()[-static_cast<std::ptrdiff_t>(kept_of_recent_)]);
        if (found == recent_.end() || !found->second.kept_until)
            continue; // it was offered again
        auto moved = kept_.insert(recent_.extract(found));
        if (!moved.inserted) // it was on offer twice
            moved.position->second = std::move(moved.node.mapped());
    }
}

void offers::forget_kept(time_point now)
{
    while (!kept_in_order_.empty()) {
        const auto oldest = kept_.find(kept_in_order_.front());
        if (oldest != kept_.end()) {
            if (*oldest->second.kept_until > now && kept_in_order_.size() <= most_kept - most_recent)
                return;
            kept_.erase(oldest);
        }
        kept_in_order_.pop_front();
    }
}

auto offers::subscribe(const node_id& node, peer_id peer, time_point now) -> answer
{
    own_node* const found = find(node);
    if (!found)
        return answer::unknown;
    auto& [peers, kept_until, secrets] = *found;
    if (kept_until) {
        if (*kept_until <= now)
            return answer::unknown;
        if (secrets.empty() || std::ranges::find(peers, peer) != peers.end())
            return answer::known;
        if (peers.size() >= most_subscribers)
            return answer::full;
        peers.push_back(peer);
        told_.add();
        return answer::gone;
    }
    const auto its = of_peers_.find(peer);
    if (its != of_peers_.end() && its->second.contains(node))
        return answer::known;
    if (peers.size() >= most_subscribers || (its != of_peers_.end() && its->second.size() >= most_of_a_peer))
        return answer::full;
    peers.push_back(peer);
    try {
        of_peers_[peer].insert(node);
    } catch (...) {
        peers.pop_back();
        forget(peer, node);
        throw;
    }
    return peers.size() == 1 ? answer::awaited : answer::added;
}

std::span<const store::node_secret> offers::kept_secrets(const node_id& node) const
{
    const own_node* const found = find(node);
    return found ? std::span<const store::node_secret>(found->secrets) : std::span<const store::node_secret>();
}

bool offers::unsubscribe(const node_id& node, peer_id peer)
{
    const auto its = of_peers_.find(peer);
    if (its == of_peers_.end() || !its->second.contains(node))
        return false;
    forget(peer, node);
    std::erase(recent_.at(node).peers, peer);
    return true;
}

void offers::forget(peer_id peer)
{
    const auto its = of_peers_.find(peer);
    if (its == of_peers_.end())
        return;
    for (const node_id& node : its->second)
        std::erase(recent_.at(node).peers, peer);
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
    const auto found = recent_.find(node);
    return found != recent_.end() && !found->second.kept_until && !found->second.peers.empty();
}

bool offers::subscribes(peer_id peer) const { return of_peers_.contains(peer); }

} // namespace zklock::bridge::peering
