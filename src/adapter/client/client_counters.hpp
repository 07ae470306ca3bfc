#pragma once
#include "counters/counters.hpp"
#include "counters/lock_counters.hpp"
#include "store/repeats.hpp"

#include <atomic>
#include <cstdint>

namespace zklock::detail {

/// What a client counts. It lives as long as the client's state, which may outlive the context.
struct client_counters {
    /// Guards that were destroyed in the turn in which they were delivered, before anybody looked.
    std::atomic<std::uint64_t> unseen_guards{0};
    /// Says which line of the log about them is due, by path, because a program that does it at one place does it each
    /// time it comes there. To be used on the strand.
    store::repeats_by_key unseen_told{};
    counters::by_name locks;
    counters::connection_counters connection;
};

} // namespace zklock::detail
