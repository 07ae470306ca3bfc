#pragma once
#include "counters/counters.hpp"
#include "counters/lock_counters.hpp"
#include "store/repeats.hpp"

#include <atomic>
#include <cstdint>

namespace zklock::detail {

/// Counts the guards of one client that were destroyed in the turn in which they were delivered, before anybody looked.
struct unseen_guards {
    std::atomic<std::uint64_t> counted{0};
    /// Says which line of the log is due, by path, because a program that does it at one place does it each time it
    /// comes there. To be used on the strand.
    store::repeats_by_key told{};
};

/// What a client counts. It lives as long as the client's state, which may outlive the context.
struct client_counters {
    detail::unseen_guards unseen_guards;
    counters::by_name locks;
    counters::connection_counters connection;
};

} // namespace zklock::detail
