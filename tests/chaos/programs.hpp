#pragma once
// What zklock_chaos plays, beside the life of a worker (worker.hpp). main.cpp reads the options.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zklock::chaos {

/// The exit status of a run that says nothing about the locks: servers or processes did not come up, or the servers
/// have different data (server_faults.hpp).
inline constexpr int could_not_play = 3;

struct rounds_options {
    double minutes = 1;
    std::optional<std::size_t> count; ///< how many rounds, however long they take; in place of `minutes`
    bool handoff = false;             ///< see worker_options
    std::uint64_t seed = 0;
    std::size_t members = 3;
    std::vector<std::string> nemeses; ///< empty: all
};

/// Lets client processes compete for locks while one misfortune after the other comes over them and their servers, and
/// then checks the history. Returns the exit status: 0 nothing wrong, 1 a violation, or could_not_play.
int run_rounds(const rounds_options& options);

/// A holder looks at its guard, stands still for longer than its session, and writes with its old token when the next
/// holder has written: the resource has to refuse that. Returns the exit status: 0, or 1 when it was let in, or when
/// anything else was wrong; throws when it did not come to that.
int run_stale_write(std::uint64_t seed);

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

struct holders_options {
    std::vector<std::string> servers;    ///< of each client; the n-th client acquires path_of(n), twice
    std::string events;                  ///< the file that it appends to: `what n time token lease`
    std::int64_t session_timeout = 2000; ///< milliseconds
    std::int64_t server_tick = 200;      ///< likewise
};

/// A process of the cut-offs, with clients that each take one lock and keep it until it is lost or SIGTERM comes; a
/// second contender of the same client waits behind it. It notes `held` and `lost`, or `held-second` and
/// `lost-second`. Returns the exit status.
int run_holders(const holders_options& options);

} // namespace zklock::chaos
