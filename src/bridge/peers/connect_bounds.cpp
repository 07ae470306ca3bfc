#include "bridge/peers/connect_bounds.hpp"

#include <algorithm>

namespace zklock::bridge::peering {

bool connect_bounds::permit(const endpoint& to, time_point now)
{
    if (!in_network(to) || under_way_ >= most_under_way)
        return false;
    forget_attempts(now);
    if (tried_.contains(to))
        return false;
    return attempts_.next(now) <= now;
}

bool connect_bounds::begin(const endpoint& to, time_point now)
{
    if (full() || !permit(to, now))
        return false;
    in_order_.emplace_back(now, to);
    tried_.emplace(to, now);
    (void)attempts_.take(now);
    ++connections_;
    ++under_way_;
    return true;
}

void connect_bounds::forget_attempts(time_point now)
{
    while (!in_order_.empty() && now - in_order_.front().first >= endpoint_each) {
        tried_.erase(in_order_.front().second);
        in_order_.pop_front();
    }
}

address inbound_places::counted_as(const address& of)
{
    if (of.is_v4())
        return of;
    auto bits = of.to_v6().to_bytes();
    if (of.to_v6().is_v4_mapped())
        return of;
    std::fill(bits.begin() + 8, bits.end(), static_cast<unsigned char>(0));
    return boost::asio::ip::address_v6(bits);
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

void inbound_places::give_back(const address& of)
{
    const auto found = of_each_.find(counted_as(of));
    if (found == of_each_.end() || found->second.taken == 0)
        return;
    --found->second.taken;
    --taken_;
}

} // namespace zklock::bridge::peering
