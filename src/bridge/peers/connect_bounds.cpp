#include "bridge/peers/connect_bounds.hpp"

#include <algorithm>

namespace zklock::bridge::peering {

bool connect_bounds::permit(const endpoint& to, time_point now)
{
    if (!in_network(to) || under_way_ >= most_under_way)
        return false;
    while (!tried_.empty() && now - tried_.front().when >= endpoint_each)
        tried_.pop_front();
    if (std::ranges::find(tried_, to, &attempt::to) != tried_.end())
        return false;
    return attempts_.next(now) <= now;
}

bool connect_bounds::begin(const endpoint& to, time_point now)
{
    if (full() || !permit(to, now))
        return false;
    tried_.push_back({to, now});
    (void)attempts_.take(now);
    ++connections_;
    ++under_way_;
    return true;
}

address inbound_places::counted_as(const address& of)
{
    return of.is_v4() || of.to_v6().is_v4_mapped() ? of : first_bits(of, 64);
}

auto inbound_places::take(const address& of, time_point now) -> answer
{
    const address counted = counted_as(of);
    const auto known = of_each_.find(counted);
    if (known != of_each_.end() && (known->second.taken >= most_of_an_address || known->second.entries.next(now) > now))
        return answer::over_share;
    if (taken_ >= most)
        return answer::all_taken;
    if (entries_.next(now) > now)
        return answer::too_fast;
    if (known == of_each_.end() && of_each_.size() >= most_remembered)
        std::erase_if(of_each_,
                      [&](const auto& each) { return each.second.taken == 0 && each.second.entries.full(now); });
    share& its = known == of_each_.end() ? of_each_[counted] : known->second;
    (void)entries_.take(now);
    (void)its.entries.take(now);
    ++its.taken;
    ++taken_;
    return answer::granted;
}

void inbound_places::give_back(const address& of, bool was_useful)
{
    const auto found = of_each_.find(counted_as(of));
    if (found == of_each_.end() || found->second.taken == 0)
        return;
    --found->second.taken;
    --taken_;
    if (!was_useful)
        entries_.give_back(1);
}

} // namespace zklock::bridge::peering
