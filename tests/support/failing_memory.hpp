#pragma once
// Memory that fails as told, on the thread that tells it. For one file of a program, whose operator new it brings.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace zklock::test {

inline thread_local long allocations_left = -1; ///< the last of them fails; none does as long as it is negative
inline thread_local bool none_succeeds = false;
inline thread_local long one_fails_of = 0;   ///< if not 0, each so-and-so-manieth allocation fails
inline thread_local bool also_asios = false; ///< what Asio takes for its own operations fails likewise
/// If it is there and says no, nothing fails, and no allocation is counted.
inline thread_local bool (*may_fail)() = nullptr;
inline thread_local std::size_t largest_allocation = 0; ///< in bytes
inline std::atomic<long> live_allocations = 0;          ///< of all threads, by operator new

struct short_of_memory {
    explicit short_of_memory(long allocation) { allocations_left = allocation; }
    ~short_of_memory() { allocations_left = -1; }
    short_of_memory(const short_of_memory&) = delete;
    short_of_memory& operator=(const short_of_memory&) = delete;

    [[nodiscard]] static bool has_struck() { return allocations_left < 0; }
};

struct out_of_memory {
    out_of_memory() { none_succeeds = true; }
    ~out_of_memory() { none_succeeds = false; }
    out_of_memory(const out_of_memory&) = delete;
    out_of_memory& operator=(const out_of_memory&) = delete;
};

/// As long as this lives.
struct scarce_memory {
    explicit scarce_memory(long one_of) { one_fails_of = one_of; }
    ~scarce_memory() { one_fails_of = 0; }
    scarce_memory(const scarce_memory&) = delete;
    scarce_memory& operator=(const scarce_memory&) = delete;
};

struct asio_fails_too {
    asio_fails_too() { also_asios = true; }
    ~asio_fails_too() { also_asios = false; }
    asio_fails_too(const asio_fails_too&) = delete;
    asio_fails_too& operator=(const asio_fails_too&) = delete;
};

inline bool this_one_fails() noexcept
{
    static thread_local long nth = 0;
    if (may_fail && !may_fail())
        return false;
    if (none_succeeds || (one_fails_of != 0 && ++nth % one_fails_of == 0))
        return true;
    if (allocations_left <= 0 || --allocations_left != 0)
        return false;
    allocations_left = -1;
    return true;
}

} // namespace zklock::test

void* operator new(std::size_t size)
{
    using namespace zklock::test;
    if (this_one_fails())
        throw std::bad_alloc();
    largest_allocation = std::max(largest_allocation, size);
    void* const p = std::malloc(size != 0 ? size : 1);
    if (!p)
        throw std::bad_alloc();
    ++live_allocations;
    return p;
}
/// Which Asio calls.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept
{
    void* p = nullptr;
    if (zklock::test::also_asios && zklock::test::this_one_fails())
        return nullptr;
    return ::posix_memalign(&p, std::max(alignment, sizeof(void*)), size) == 0 ? p : nullptr;
}
void operator delete(void* p) noexcept
{
    if (p)
        --zklock::test::live_allocations;
    std::free(p);
}
void operator delete(void* p, std::size_t) noexcept
{
    operator delete(p);
}
