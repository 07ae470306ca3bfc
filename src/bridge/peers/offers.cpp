#include "bridge/peers/offers.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace zklock::bridge::peering {

// ---- places

auto offers::offer(const node_id& id) -> place
{
    if (free_.empty())
        make_place();
    const place p = free_.back();
    entry& node = nodes_[p];
    if (by_id_)
        by_id_->emplace(id, &node);
    node.id = id;
    node.is = state::on_offer;
    free_.pop_back();
    return p;
}

void offers::make_place()
{
    const std::size_t count = nodes_.size() + 1;
    if (free_.capacity() < count)
        free_.reserve(2 * count);
    nodes_.emplace_back();
    free_.push_back(static_cast<place>(count - 1));
}

void offers::free(place p) noexcept
{
    entry& node = nodes_[p];
    if (by_id_)
        by_id_->erase(node.id);
    node.peers = std::vector<peer_id>(); // with its memory
    node.is = state::free;
    free_.push_back(p);
}

// ---- the index

/// In one turn; 10 ms for 100,000 nodes.
void offers::make_index()
{
    index all(nodes_.size());
    for (entry& node : nodes_)
        if (node.is != state::free)
            all.emplace(node.id, &node);
    by_id_ = std::move(all);
}

auto offers::find(const node_id& id) const -> entry*
{
    if (!by_id_)
        return nullptr;
    const auto found = by_id_->find(id);
    return found == by_id_->end() ? nullptr : found->second;
}

// ---- what is on offer no more

auto offers::withdraw(place p, time_point now) -> std::vector<peer_id>
{
    return take_back(p, now, {}, nullptr);
}

auto offers::publish(place p, const store::node_secret& secret, std::span<const store::node_secret> of_nodes_before,
                     time_point now) -> std::vector<peer_id>
{
    auto told = take_back(p, now, of_nodes_before, &secret);
    given_.add(told.size());
    return told;
}

/// Without a secret it is withdrawn.
auto offers::take_back(place p, time_point now, std::span<const store::node_secret> of_nodes_before,
                       const store::node_secret* secret) -> std::vector<peer_id>
{
    entry& node = nodes_[p];
    auto subscribers = std::move(node.peers);
    for (const peer_id peer : subscribers)
        forget(peer, node);
    node.peers = subscribers;
    forget_kept(now);
    if (kept_.full())
        kept_.set_capacity(2 * kept_.capacity());
    kept_node its{p, 0, no_earlier(), now + kept_for};
    if (secret) {
        its.told_from = put_last(of_nodes_before);
        told_secrets_.push_back(*secret);
        its.told_count = static_cast<std::uint32_t>(told_end() - its.told_from);
    }
    node.in_kept = forgotten_ + kept_.size();
    node.is = state::kept;
    kept_.push_back(its);
    return subscribers;
}

/// Returns where they begin, as the last of all that are told.
std::uint64_t offers::put_last(std::span<const store::node_secret> secrets)
{
    const std::size_t size = secrets.size();
    const bool may_be_there = told_end() - no_earlier() >= size;
    if (size != 0 && (!may_be_there || std::memcmp(secrets.data(), told_secrets_.data() + told_secrets_.size() - size,
                                                   secrets.size_bytes()) != 0))
        told_secrets_.insert(told_secrets_.end(), secrets.begin(), secrets.end());
    return told_end() - size;
}

/// Where the secrets of the next node may begin: not before those of the last one. So what the oldest node that is kept
/// has no use for, no other has.
std::uint64_t offers::no_earlier() const noexcept
{
    return kept_.empty() ? told_begin_ : kept_.back().told_from;
}

void offers::forget_kept(time_point now) noexcept
{
    const auto forget_oldest = [this] {
        free(kept_.front().at);
        kept_.pop_front();
        ++forgotten_;
    };
    while (!kept_.empty() && kept_.front().until <= now)
        forget_oldest();
    // Many at once: the processor waits for the memory of all of them at the same time.
    if (kept_.size() == most_kept)
        for (std::size_t i = 0; i < forgotten_at_once; ++i)
            forget_oldest();
    const std::size_t may_go_along = std::min(told_secrets_.size(), store::most_nodes_before); // with the next
    const std::uint64_t first = kept_.empty() ? told_end() - may_go_along : kept_.front().told_from;
    const auto unused = static_cast<std::ptrdiff_t>(first - told_begin_);
    if (2 * unused > std::ssize(told_secrets_)) {
        told_secrets_.erase(told_secrets_.begin(), told_secrets_.begin() + unused);
        told_begin_ = first;
    }
}

// ---- who subscribes

auto offers::subscribe(const node_id& id, peer_id peer, time_point now) -> answer
{
    if (!by_id_)
        make_index();
    entry* const found = find(id);
    if (!found)
        return answer::unknown;
    entry& node = *found;
    if (node.is == state::kept) {
        const kept_node& it = kept(node);
        if (it.until <= now)
            return answer::unknown;
        if (it.told_count == 0 || std::ranges::find(node.peers, peer) != node.peers.end())
            return answer::known;
        if (!has_room(node, now))
            return answer::full;
        node.peers.push_back(peer);
        given_.add();
        return answer::gone;
    }
    const auto its = of_peers_.find(peer);
    if (its != of_peers_.end() && its->second.contains(&node))
        return answer::known;
    if ((its != of_peers_.end() && its->second.size() >= most_of_a_peer) || !has_room(node, now))
        return answer::full;
    node.peers.push_back(peer);
    of_peers_[peer].insert(&node);
    return node.peers.size() == 1 ? answer::awaited : answer::added;
}

/// For one subscriber more; it counts as one.
bool offers::has_room(const entry& node, time_point now) noexcept
{
    const std::size_t there = node.peers.size();
    return there < few_subscribers || (there < most_subscribers && in_crowds_.take(now));
}

std::span<const store::node_secret> offers::kept_secrets(const node_id& id) const
{
    const entry* const found = find(id);
    if (!found || found->is != state::kept)
        return {};
    const kept_node& it = kept(*found);
    return std::span(told_secrets_).subspan(it.told_from - told_begin_, it.told_count);
}

bool offers::unsubscribe(const node_id& id, peer_id peer)
{
    entry* const found = find(id);
    const auto its = of_peers_.find(peer);
    if (!found || its == of_peers_.end() || !its->second.contains(found))
        return false;
    forget(peer, *found);
    std::erase(found->peers, peer);
    return true;
}

void offers::forget(peer_id peer)
{
    const auto its = of_peers_.find(peer);
    if (its == of_peers_.end())
        return;
    for (entry* node : its->second)
        std::erase(node->peers, peer);
    of_peers_.erase(its);
}

void offers::forget(peer_id peer, entry& node) noexcept
{
    const auto its = of_peers_.find(peer);
    if (its == of_peers_.end())
        return;
    its->second.erase(&node);
    if (its->second.empty())
        of_peers_.erase(its);
}

bool offers::awaited(place p) const
{
    return nodes_[p].is == state::on_offer && !nodes_[p].peers.empty();
}

bool offers::awaited(const node_id& id) const
{
    const entry* const found = find(id);
    return found && found->is == state::on_offer && !found->peers.empty();
}

bool offers::subscribes(peer_id peer) const
{
    return of_peers_.contains(peer);
}

} // namespace zklock::bridge::peering
