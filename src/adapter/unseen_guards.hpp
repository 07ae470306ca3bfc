#pragma once
#include "store/repeats.hpp"

#include <atomic>
#include <cstdint>

namespace zklock::detail {

/// Of one client: the guards that were destroyed in the turn in which they were delivered, before anybody looked.
class unseen_guards {
public:
    // From any thread.
    void count() noexcept { counted_.fetch_add(1, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t counted() const noexcept { return counted_.load(std::memory_order_relaxed); }

    /// By path, because a program that does it at one place does it each time it comes there. On the strand.
    store::repeats_by_key told;

private:
    std::atomic<std::uint64_t> counted_{0};
};

} // namespace zklock::detail
