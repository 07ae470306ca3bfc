// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/same_library.hpp"
#include "zklock/events.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace zklock {

/// How often something took how long: a histogram whose buckets reach from 32 µs to 134 s, each twice as far as the
/// one before, and one for all that took longer.
struct latency_histogram {
    latency_histogram() = default; // no aggregate: see client_options

    static constexpr std::size_t buckets = 24; ///< how many there are
    /// The longest time that belongs into a bucket: of the last, the longest that there is.
    [[nodiscard]] static constexpr std::chrono::nanoseconds longest(std::size_t bucket) noexcept
    {
        if (bucket + 1 >= buckets)
            return std::chrono::nanoseconds::max();
        return std::chrono::microseconds(std::int64_t{32} << bucket);
    }
    /// The bucket that a time belongs into.
    [[nodiscard]] static constexpr std::size_t bucket_of(std::chrono::nanoseconds time) noexcept
    {
        const auto least = longest(0).count();
        const auto steps = time.count() > 0 ? static_cast<std::uint64_t>((time.count() - 1) / least) : 0;
        return std::min(static_cast<std::size_t>(std::bit_width(steps)), buckets - 1);
    }

    /// How many there are in all.
    [[nodiscard]] std::uint64_t count() const noexcept;
    /// The longest time of the bucket that holds the quantile, 0 to 1: as in `quantile(0.99)`. 0 where nothing was
    /// counted.
    [[nodiscard]] std::chrono::nanoseconds quantile(double q) const noexcept;
    /// Adds what the other has counted, bucket by bucket.
    latency_histogram& operator+=(const latency_histogram&) noexcept;

    std::array<std::uint64_t, buckets> counts{}; ///< of each bucket alone
    std::chrono::nanoseconds sum{};              ///< of all times that were counted
};

inline constexpr std::size_t loss_reasons = 6; ///< how many values `loss_reason` has

/// What became of acquires: of all of a client, or of those of one name. Each acquire of a user counts once, whatever
/// the lock: also one of a multi-lock, of several permits, of an owner who holds already, and each term of an election.
struct lock_metrics {
    lock_metrics() = default; // no aggregate: see client_options

    /// The options of the locks give it (`mutex_options::metrics_name`); empty for locks without a name.
    std::string name;

    // Each acquire that has ended counts in one of these six, by what its caller was told.
    std::uint64_t acquired = 0;      ///< those that got the lock
    std::uint64_t timed_out = 0;     ///< those that ended with `errc::timed_out`: others were first
    std::uint64_t not_connected = 0; ///< those that ended with `errc::not_connected` or `tls_failed`: an outage
    std::uint64_t cancelled = 0;     ///< those that the caller cancelled
    std::uint64_t busy = 0;          ///< only `try_acquire()` ends so
    std::uint64_t failed = 0;        ///< all else, such as `errc::access_denied` or `closed`

    // Each hold that has ended counts in one of these, when its guard hears of the loss, or when its release has ended:
    // that may be the first to find a loss out. Permits that were split off, or released one by one, are not counted
    // apart from the guard they were acquired with.
    std::uint64_t released = 0;                        ///< those that were given back without a loss
    std::array<std::uint64_t, loss_reasons> lost_by{}; ///< by the value of `loss_reason`
    /// How many were lost for that reason.
    [[nodiscard]] std::uint64_t lost(loss_reason why) const noexcept { return lost_by[static_cast<std::size_t>(why)]; }
    [[nodiscard]] std::uint64_t lost() const noexcept; ///< for any reason

    std::uint64_t waiting = 0; ///< acquires that wait now: what this client adds to the queues
    std::uint64_t held = 0;    ///< what is held now, or being released: guards, not permits

    latency_histogram waits; ///< of what was acquired: from the call to the grant
    latency_histogram holds; ///< of what has ended: from the grant to the release, or to the loss as it was noticed

    lock_metrics& operator+=(const lock_metrics&) noexcept; ///< all but the name
};

/// What a client has told others past the servers, and heard from them: all 0 without `client_options::handoff`.
struct handoff_metrics {
    handoff_metrics() = default; // no aggregate: see client_options

    /// Grants by word of who let the lock go: the servers had not told of it yet. Readers who follow a writer together,
    /// and acquires of this client that follow on its own, count as one.
    std::uint64_t taken = 0;
    std::uint64_t given = 0; ///< how often another client was told that a node is let go that it waits for

    // What kept clients from telling each other. The servers tell it then, as without.
    std::uint64_t not_listed = 0; ///< nodes not asked for: their clients' addresses are in none of the `peers`
    std::uint64_t not_tried = 0;  ///< nodes not asked for: too many connections, or none came about seconds ago
    std::uint64_t no_answer = 0;  ///< attempts to connect where no client answered within a second
    std::uint64_t refused = 0;    ///< connections of others, hung up on: too many, or it was for no node of this client
    std::uint64_t over_share = 0; ///< … because too many were from that address, at once or within a second
    /// How often it accepted nobody for some milliseconds, because more came than it can hang up on cheaply.
    std::uint64_t accept_pauses = 0;

    bool listens = false;             ///< now: it has the port on which others reach it
    std::uint64_t connected_to = 0;   ///< now: clients to which it is connected
    std::uint64_t connected_from = 0; ///< now: connections that others have made to it
};

/// How a client has fared since it was made: what `client::metrics()` tells.
///
/// Counters only grow, also across sessions. Times are of `lease_clock`, as exact as the turns of the client's strand:
/// what begins and ends in one turn took no time. The numbers are not of one moment: an acquire that ends while they
/// are read may be in one and not yet in another.
struct metrics {
    metrics() = default; // no aggregate: see client_options

    connection_state state = connection_state::connecting; ///< where the client stands with its ensemble
    std::uint64_t reconnects = 0;  ///< connections after the first one, of the same session or a new one
    std::uint64_t disconnects = 0; ///< connections that have ended, but for the client's close
    std::uint64_t expiries = 0;    ///< sessions that the servers have ended
    /// How often the servers have refused the credentials: 0 or 1, for then `state` is `failed` until it is closed.
    std::uint64_t authentication_failures = 0;
    /// What was sent to the servers for the client's users, its locks and its lease. A transaction counts once. What
    /// the C client sends on its own (to connect, and pings) does not count.
    std::uint64_t requests = 0;
    std::uint64_t unseen = 0;     ///< guards that died in the turn that delivered them: see `acquired`
    latency_histogram heartbeats; ///< of the lease: from sending one to its answer
    /// How much later than planned its turn came: the strand was busy, or stopped. Those count, too, that found the
    /// connection lost by then, and were not sent.
    latency_histogram heartbeat_delays;

    handoff_metrics handoff; ///< past the servers

    lock_metrics all;                  ///< of all locks
    std::vector<lock_metrics> by_name; ///< of the locks of each name; first those without one

    /// For `prometheus_text()`: what is put on each sample, besides the labels of its own. `client::metrics()` leaves
    /// it empty.
    std::map<std::string, std::string> labels;
};

/// How many names of locks a client tells apart. Locks with further names are counted together, as `other_locks`.
inline constexpr std::size_t most_metrics_names = 64;
inline constexpr char other_locks[] = "(other)"; ///< the name under which those are counted

/// The metrics in Prometheus's text format (version 0.0.4), as the answer to `GET /metrics` of a scraper, with
/// `Content-Type: text/plain; version=0.0.4`. All names begin with `zklock_`; locks with a name have it as the label
/// `lock`. A label's value may be any text: what is no UTF-8 is replaced by `?`, and so is each character of a label's
/// name that Prometheus does not accept by `_`.
///
/// Thread safety: it may be called from any thread.
/// @throws std::bad_alloc
[[nodiscard]] std::string prometheus_text(const metrics&);

/// The metrics of several clients as one text. The clients need distinct `labels`.
[[nodiscard]] std::string prometheus_text(std::span<const metrics>);

} // namespace zklock
