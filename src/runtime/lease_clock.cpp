#include "runtime/stores_in_memory.hpp"
#include "zklock/events.hpp"

#include <atomic>
#include <cstdint>
#include <ctime>

namespace zklock {

namespace {

std::atomic<std::int64_t> moved_by{0}; // ns

} // namespace

void runtime::move_lease_clock(std::chrono::nanoseconds by) noexcept
{
    moved_by.fetch_add(by.count(), std::memory_order_relaxed);
}

lease_clock::time_point lease_clock::now() noexcept
{
    timespec t{};
    ::clock_gettime(CLOCK_BOOTTIME, &t);
    const std::chrono::nanoseconds moved(moved_by.load(std::memory_order_relaxed));
    return time_point{std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec} + moved};
}

} // namespace zklock
