#pragma once
#include "adapter/client/client_status.hpp"
#include "counters/counters.hpp"
#include "counters/lock_counters.hpp"
#include "store/repeats.hpp"
#include "zklock/metrics.hpp"

#include <atomic>
#include <cstdint>

namespace zklock::detail {

/// Counts the guards of one client that were destroyed in the turn in which they were delivered, before anybody looked.
class unseen_guards {
public:
    // These two may be called from any thread.
    void count() noexcept { counted_.fetch_add(1, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t counted() const noexcept { return counted_.load(std::memory_order_relaxed); }

    /// Says which line of the log is due, by path, because a program that does it at one place does it each time it
    /// comes there. To be used on the strand.
    store::repeats_by_key told;

private:
    std::atomic<std::uint64_t> counted_{0};
};

/// What a client counts. It lives as long as the client's state, which may outlive the context.
struct client_counters {
    /// From any thread.
    [[nodiscard]] metrics read(const client_status&) const;

    detail::unseen_guards unseen_guards;
    counters::by_name locks;
    counters::connection_counters connection;
};

} // namespace zklock::detail
