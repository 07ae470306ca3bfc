#pragma once
#include "queue/node_name.hpp"

#include <algorithm>

namespace zklock::simulator {

// What schedules have that are about names of others: a mark of our own, and one of other programs.
inline constexpr const char own_mark[] = "-stock-";
inline constexpr const char other_mark[] = "-order-";

/// What becomes of what clients tell each other past the servers.
enum class peer_life : std::uint8_t {
    none, ///< clients have no peers
    dead, ///< they have, and nobody reaches anybody
    alive
};

/// What the locks of a client on one path have to agree on while they are in use, as in mutex_options.
struct agreed_options {
    naming names = naming::curator;
    std::chrono::milliseconds linger{0};
    unsigned cohort = 1;

    /// An acquire may be granted on the node of another one of its client.
    [[nodiscard]] bool passes_nodes_on() const { return linger.count() > 0 || cohort > 1; }
};

/// What holds for a whole schedule.
struct settings {
    unsigned servers = 1;
    unsigned clients = 2;
    unsigned paths = 1;
    std::chrono::milliseconds session_timeout{4'000}; ///< what clients ask for, and the longest that is granted
    std::chrono::milliseconds tick{2'000};            ///< sessions are 1.25 of them at least
    /// What the servers grant instead, one each; after a restart what is next in the list, for their limits have been
    /// changed. Empty: what is asked for.
    std::vector<std::chrono::milliseconds> granted;
    bool expiry_rounded_up = false;       ///< to whole ticks, as the servers do; without it they are as early as can be
    std::chrono::microseconds delay{200}; ///< least time of a message
    std::chrono::microseconds delay_spread{300}; ///< and what may come on top, now and then tenfold
    std::chrono::microseconds follower_lag{0};   ///< what may come on top for a follower to learn of a commit
    std::int32_t leader_drift_ppm = 0;           ///< how much faster than true time the servers' clocks run
    std::vector<std::int32_t> client_drift_ppm;  ///< one for each client
    double stated_drift = 0.01;                  ///< what the clients believe to be the bound
    std::optional<std::chrono::milliseconds> stated_margin; ///< of their leases
    unsigned scarce_memory = 0;       ///< one in so many of the library's steps runs out of it; 0 for none
    unsigned one_fault_in = 0;        ///< messages; 0 for none
    std::uint32_t first_sequence = 0; ///< the parents' counter at the beginning
    std::int32_t scarce_from = queue::sequence_scarce; ///< where it is scarce
    bool parents_exist = true;
    bool parents_are_containers = true;
    bool exists_needs_read = false;  ///< as servers from 3.8.4 and 3.9.2 on have it; earlier ones answer everybody
    bool eager_access_check = false; ///< each of several servers refuses by itself what access lists forbid
    unsigned patience = 5;           ///< for how many half ticks a follower serves on that hears nothing of its leader
    bool is_set_back = false;        ///< the ensemble, at some time
    bool set_back_unnoticed = false; ///< by its servers: they keep nobody out
    bool one_goes_astray = false;    ///< a server, while the others are down
    bool disconnect_told_at_close = false; ///< whether a store that is closed says on_disconnected first
    std::size_t node_budget = 512 * 1024;
    std::size_t users_window = 64;       ///< how many requests of users may be under way, besides those for locks
    agreed_options agreed[2];            ///< the second ones: of those acquires that have other options
    std::string mark;                    ///< as in mutex_options, of a mutex
    std::vector<std::string> also_heeds; ///< likewise
    std::chrono::milliseconds quiet_after{20'000}; ///< no more faults from then on

    peer_life peers = peer_life::none;
    unsigned peerless = 0;                    ///< clients that have none all the same, a bit for each
    std::chrono::microseconds peer_delay{20}; ///< least time of a message between clients
    unsigned one_peer_fault_in = 0;           ///< such messages; 0 for none
    std::size_t peer_subscriptions = 64;      ///< how many a client may have at once
    bool registers = false;                   ///< users read and write something under their locks
    bool requests_noted = false;              ///< the verdict tells all that clients asked for, and when

    /// How long the node of any acquire may linger.
    [[nodiscard]] std::chrono::milliseconds longest_linger() const
    {
        return std::max(agreed[0].linger, agreed[1].linger);
    }
    /// Whether a path's numbers may be scarce at some time.
    [[nodiscard]] bool may_run_short() const
    {
        constexpr std::int64_t of_a_schedule = 1'000;
        return std::int64_t{first_sequence} + of_a_schedule > scarce_from;
    }
    [[nodiscard]] std::chrono::milliseconds shortest_session() const
    {
        return granted.empty() ? session_timeout : *std::min_element(granted.begin(), granted.end());
    }
    /// Longer than a process that is not paused takes to run what it has in line, late timers included.
    [[nodiscard]] static constexpr std::chrono::milliseconds promptly() { return std::chrono::milliseconds(20); }
    /// What a message may take, but for rare ones, until those who wait for it know of it.
    [[nodiscard]] std::chrono::microseconds slow_message() const { return delay + delay_spread + follower_lag; }
    /// What the rare ones may take.
    [[nodiscard]] std::chrono::microseconds slowest_message() const { return delay + 10 * delay_spread; }
    /// Where a tick is a quarter of the session or more, three slow round trips in succession may be more than is
    /// left of a lease; and who waits may wait for a lease that can be renewed.
    [[nodiscard]] bool leases_may_end_in_calm() const
    {
        return 4 * tick >= shortest_session() && 60 * slow_message() > shortest_session() - tick;
    }
    /// Longer than any exchange takes while nothing goes wrong, and nobody is waited for.
    [[nodiscard]] std::chrono::microseconds a_while() const
    {
        return 100 * slow_message() + std::chrono::milliseconds(100);
    }
};

[[nodiscard]] inline std::string path_of(unsigned number)
{
    return "/locks/" + std::string(1, static_cast<char>('a' + number));
}

} // namespace zklock::simulator
