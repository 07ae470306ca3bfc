#pragma once
// Memory that fails as told, on the thread that tells it. For one file of a program, whose operator new it brings.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

#if defined(__GNUC__) && !defined(__clang__) // it inlines one of the two below without the other
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

namespace zklock::test {

inline thread_local long allocations_left = -1; ///< the last of them fails; none does as long as it is negative
inline thread_local bool none_succeeds = false;
/// If it is there and says no, nothing fails, and no allocation is counted.
inline thread_local bool (*may_fail)() = nullptr;
inline thread_local std::size_t largest_allocation = 0; ///< in bytes

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

} // namespace zklock::test

void* operator new(std::size_t size)
{
    using namespace zklock::test;
    const bool here = !may_fail || may_fail();
    if (here && none_succeeds)
        throw std::bad_alloc();
    if (here && allocations_left > 0 && --allocations_left == 0) {
        allocations_left = -1;
        throw std::bad_alloc();
    }
    largest_allocation = std::max(largest_allocation, size);
    if (void* const p = std::malloc(size != 0 ? size : 1))
        return p;
    throw std::bad_alloc();
}
void operator delete(void* p) noexcept
{
    std::free(p);
}
void operator delete(void* p, std::size_t) noexcept
{
    std::free(p);
}
