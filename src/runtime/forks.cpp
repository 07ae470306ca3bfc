#include "runtime/forks.hpp"
#include "runtime/unique_fd.hpp"

#include <array>
#include <new>

#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace zklock::runtime {

namespace {

std::atomic<unsigned> forks{0};

constexpr int nobodys = -1;

/// The descriptors that children do not keep. There are no locks: a thread that is missing in the child may have held
/// them.
struct kept_place {
    std::atomic<int> descriptor{nobodys};
};
std::array<kept_place, 4096> kept_places;

/// As after any fork(), no more than system calls.
void in_child()
{
    forks.fetch_add(1, std::memory_order_relaxed);
    for (const kept_place& each : kept_places)
        if (const int descriptor = each.descriptor.load(); descriptor != nobodys)
            leave_to_parent(descriptor);
}

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

kept_from_children::kept_from_children(int descriptor) noexcept
{
    for (kept_place& each : kept_places) {
        int expected = nobodys;
        if (each.descriptor.compare_exchange_strong(expected, descriptor)) {
            place_ = &each.descriptor;
            return;
        }
    }
}

kept_from_children::~kept_from_children()
{
    if (place_)
        place_->store(nobodys);
}

void leave_to_parent(int descriptor) noexcept
{
    const unique_fd other(::eventfd(0, EFD_CLOEXEC));
    if (other)
        ::dup3(other.get(), descriptor, O_CLOEXEC);
    else
        ::close(descriptor);
}

} // namespace zklock::runtime
