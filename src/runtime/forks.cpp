#include "runtime/forks.hpp"

#include <atomic>
#include <new>

#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace zklock::runtime {

namespace {

std::atomic<unsigned> forks{0};

void in_child() { forks.fetch_add(1, std::memory_order_relaxed); }

bool watch_forks()
{
    if (::pthread_atfork(nullptr, nullptr, &in_child) != 0)
        throw std::bad_alloc();
    return true;
}

} // namespace

unsigned fork_count()
{
    [[maybe_unused]] static const bool watching = watch_forks();
    return forks.load(std::memory_order_relaxed);
}

void leave_to_parent(int descriptor) noexcept
{
    const int other = ::eventfd(0, EFD_CLOEXEC);
    if (other == -1) {
        ::close(descriptor);
        return;
    }
    ::dup3(other, descriptor, O_CLOEXEC);
    ::close(other);
}

} // namespace zklock::runtime
