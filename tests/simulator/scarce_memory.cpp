#include "scarce_memory.hpp"

#include <cstdlib>

namespace zklock::simulator {
namespace {

struct shortage {
    bool may_come = false; ///< the library is running
    long until = 0;        ///< allocations that succeed before
    long failures = 0;     ///< after that
};
thread_local shortage now;

bool one_fails() noexcept
{
    if (!now.may_come || now.failures == 0)
        return false;
    if (now.until > 0)
        return --now.until, false;
    --now.failures;
    return true;
}

} // namespace

scarce_memory::scarce_memory(world& w, unsigned client)
{
    now = {};
    if (w.set.scarce_memory == 0 || w.quiet)
        return;
    using stream = choices::stream;
    if (!w.choose.one_in(w.set.scarce_memory, stream::memory, client))
        return;
    now.until = static_cast<long>(
        w.choose.below(std::uint64_t{1} << w.choose.below(7, stream::memory, client), stream::memory, client));
    now.failures = static_cast<long>(1 + w.choose.below(3, stream::memory, client));
    if (w.log.on())
        w.log.line(w.time.now(), "client" + std::to_string(client),
                   "is short of memory: from allocation " + std::to_string(now.until + 1) + " on, " +
                       std::to_string(now.failures) + " fail");
    now.may_come = true;
}

scarce_memory::~scarce_memory()
{
    ends();
}
void scarce_memory::ends() noexcept
{
    now = {};
}

plenty_of_memory::plenty_of_memory() noexcept : before_(std::exchange(now.may_come, false)) {}
plenty_of_memory::~plenty_of_memory()
{
    now.may_come = before_;
}

} // namespace zklock::simulator

void* operator new(std::size_t size)
{
    void* const p = zklock::simulator::one_fails() ? nullptr : std::malloc(size != 0 ? size : 1);
    if (p == nullptr)
        throw std::bad_alloc();
    return p;
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept
{
    return std::malloc(size != 0 ? size : 1);
}
void operator delete(void* p) noexcept
{
    std::free(p);
}
void operator delete(void* p, std::size_t) noexcept
{
    std::free(p);
}
void operator delete(void* p, const std::nothrow_t&) noexcept
{
    std::free(p);
}
