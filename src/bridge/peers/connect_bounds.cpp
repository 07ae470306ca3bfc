#include "bridge/peers/connect_bounds.hpp"

#include "bridge/peers/mutants.hpp"

#include <algorithm>

namespace zklock::bridge::peering {

bool connect_bounds::permit(const endpoint& to, time_point now)
{
    if (!in_network(to) || under_way_ >= most_under_way)
        return false;
    forget_attempts(now);
    if (tried_.contains(to))
        return false;
    return attempts_.next(now) <= now || ZKLOCK_PEERS_MUTANT(endpoint_changes_reconnect_without_bound);
}

bool connect_bounds::begin(const endpoint& to, time_point now)
{
    if (full() || !permit(to, now))
        return false;
    in_order_.emplace_back(now, to);
    try {
        tried_.emplace(to, now);
    } catch (...) {
        in_order_.pop_back();
        throw;
    }
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

bool inbound_places::take(const address& of)
{
    if (taken_ >= most)
        return false;
    auto& count = of_each_[counted_as(of)];
    if (count >= most_of_an_address)
        return false;
    ++count;
    ++taken_;
    return true;
}

void inbound_places::give_back(const address& of)
{
    const auto found = of_each_.find(counted_as(of));
    if (found == of_each_.end())
        return;
    --taken_;
    if (--found->second == 0)
        of_each_.erase(found);
}

} // namespace zklock::bridge::peering
