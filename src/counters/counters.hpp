#pragma once
#include "zklock/metrics.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace zklock::counters {

/// Counted by one thread at a time, a client's strand, and read by any. So counting takes no locked instruction.
class counter {
public:
    void add(std::uint64_t more = 1) noexcept { set(read() + more); }
    void subtract_one() noexcept { set(read() - 1); }
    void set(std::uint64_t now) noexcept { count_.store(now, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t read() const noexcept { return count_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> count_{0};
};

/// A histogram that one thread at a time counts in, and any thread may read.
class latency_counter {
public:
    void add(std::chrono::nanoseconds time) noexcept
    {
        counts_[latency_histogram::bucket_of(time)].add();
        sum_.add(time > time.zero() ? static_cast<std::uint64_t>(time.count()) : 0);
    }
    [[nodiscard]] latency_histogram read() const noexcept
    {
        latency_histogram all;
        for (std::size_t i = 0; i < counts_.size(); ++i)
            all.counts[i] = counts_[i].read();
        all.sum = std::chrono::nanoseconds(sum_.read());
        return all;
    }

private:
    std::array<counter, latency_histogram::buckets> counts_;
    counter sum_; ///< nanoseconds
};

/// What a client counts of what it tells others past the servers, and hears from them.
struct handoff_counters {
    [[nodiscard]] handoff_metrics read() const noexcept;

    counter taken, given, not_listed, not_tried, no_answer, refused, over_share, accept_pauses;
    counter listens, connected_to, connected_from; ///< now
};

/// What a client counts of its connections.
struct connection_counters {
    counter reconnects, disconnects, expiries, authentication_failures, requests;
    latency_counter heartbeats, heartbeat_delays;
    handoff_counters handoff; ///< to other clients
};

} // namespace zklock::counters
