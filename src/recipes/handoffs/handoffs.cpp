#include "recipes/handoffs/handoffs.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <ranges>
#include <vector>

namespace zklock::recipes {
namespace {

/// Certificates are kept for nodes that are followed later.
constexpr std::size_t most_told_before = 64;

} // namespace

handoffs::handoffs(store::peers& p) : peers(p), room_(sizeof(offered_node)) {}

auto handoffs::follow(handoff_source& source, const store::commitment& commitment, std::string node) -> followed
{
    return followed_.emplace(commitment, node_of_others{&source, std::move(node)});
}

void handoffs::forget(followed node)
{
    ask_no_more(node);
    followed_.erase(node);
}

auto handoffs::find(const store::commitment& commitment, bool node_of_others::*which) -> followed
{
    const auto [first, last] = followed_.equal_range(commitment);
    const auto found = std::find_if(first, last, [which](const auto& f) { return f.second.*which; });
    return found == last ? followed_.end() : found;
}

/// Who copies the name of a node has his own asked for first, mostly, as it is nearer to those who queue behind.
void handoffs::ask(followed node)
{
    const auto before = find(node->first, &node_of_others::asked_for);
    if (before != followed_.end()) {
        before->second.asked_for = false;
        peers.unsubscribe(node->first);
    }
    peers.subscribe(node->first, node->second.endpoint);
    node->second.wanted = true;
    node->second.asked_for = true;
}

void handoffs::ask_no_more(followed node)
{
    node->second.wanted = false;
    if (!std::exchange(node->second.asked_for, false))
        return;
    peers.unsubscribe(node->first);
    const auto other = find(node->first, &node_of_others::wanted);
    if (other != followed_.end())
        ask(other);
}

std::optional<store::node_secret> handoffs::told_before(const store::commitment& commitment) const
{
    // Those who stand in one queue tell each other the last ones again and again.
    const auto last_first = std::views::reverse(told_before_);
    const auto found = std::ranges::find(last_first, commitment, [](const auto& told) { return told.first; });
    return found == last_first.end() ? std::nullopt : std::optional(found->second);
}

/// Several nodes may have the commitment: a writer's and the reader's that it became, or one of somebody who has copied
/// the name, and whose node then counts as let go, too.
void handoffs::on_certificate(const store::node_secret& secret)
{
    const store::commitment commitment = peers.commitment_to(secret);
    auto [first, last] = followed_.equal_range(commitment);
    std::vector<node_of_others> certified; // they go from the list when they are told
    for (; first != last; ++first)
        certified.push_back(first->second);
    // It may be of a reader, too, that a writer has become whose node alone is known here.
    if (!told_before(commitment))
        told_before_.emplace_back(commitment, secret);
    if (told_before_.size() > most_told_before)
        told_before_.pop_front();
    for (const node_of_others& each : certified)
        each.by->on_certified(each.node, secret);
}

void handoffs::on_awaited(const store::commitment& commitment)
{
    if (const auto found = may_linger_.find(commitment); found != may_linger_.end())
        found->second->on_awaited();
}

// --- nodes on offer --------------------------------------------------------------------------------------------------

auto handoffs::offer() -> offered
{
    static_assert(alignof(offered_node) <= alignof(void*)); // as is all that comes from a pool
    void* const room = room_.malloc();
    if (!room)
        throw std::bad_alloc();
    return offered(new (room) offered_node(*this)); // if that throws, the pool has the room with all else
}

void handoffs::takes_back::operator()(offered_node* node) const noexcept
{
    boost::pool<>& room = node->in_.room_;
    node->~offered_node();
    room.free(node);
}

offered_node::offered_node(handoffs& in) : in_(in), node_(in.peers.make_node()) {}

void offered_node::tell(handoff_source& lingers)
{
    if (!may_linger_)
        may_linger_ = in_.expect_waiters(lingers, node_.commitment);
}

void offered_node::hold_ends() noexcept
{
    clean_ = clean_ && (!since_ || in_.writes->none_since(*since_));
    since_.reset();
}

void offered_node::publish(std::span<const store::node_secret> of_nodes_before)
{
    forget_waiters();
    published_ = true;
    in_.peers.publish(node_, of_nodes_before);
}

void offered_node::forget_waiters() noexcept
{
    if (may_linger_)
        in_.forget(*std::exchange(may_linger_, std::nullopt));
}

void offered_node::withdraw() noexcept
{
    if (published_)
        return;
    forget_waiters();
    in_.peers.withdraw(node_);
}

} // namespace zklock::recipes
