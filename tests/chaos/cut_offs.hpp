#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace zklock::chaos {

struct cut_offs_options {
    std::size_t cuts = 100;
    std::size_t at_once = 10; ///< holders that are cut off in one go
    std::int64_t tick = 200;  ///< milliseconds
    double session_ticks = 10;
    std::int64_t sync_limit = 5;  ///< of the servers, in ticks
    std::string where = "client"; ///< client, follower, leader, stale-leader, or woken-leader
    bool young = false;           ///< cut as soon as it holds
    bool lease_only = false;      ///< the margin is that of the end of the lease, not of when the holder is told
    std::uint64_t seed = 0;
};

/// Cuts holders off, and measures how long before the next contender has the lock they are told that they lost it.
/// Returns the exit status: 0, or 1 if one was told later than the stated margin before.
int run_cut_offs(const cut_offs_options& options);

} // namespace zklock::chaos
