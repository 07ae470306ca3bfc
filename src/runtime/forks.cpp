#include "runtime/forks.hpp"
#include "runtime/unique_fd.hpp"

#include <array>
#include <cstddef>
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
std::atomic<int> places_used{0}; ///< those behind were never used

/// As after any fork(), no more than system calls.
void in_child()
{
    forks.fetch_add(1, std::memory_order_relaxed);
    const int used = places_used.load(std::memory_order_relaxed);
    for (int i = 0; i < used; ++i)
        if (const int descriptor = kept_places[static_cast<std::size_t>(i)].descriptor.load(); descriptor != nobodys)
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
    const int most = static_cast<int>(kept_places.size());
    for (int i = 0; i < most && place_ == -1; ++i) {
        int expected = nobodys;
        if (!kept_places[static_cast<std::size_t>(i)].descriptor.compare_exchange_strong(expected, descriptor))
            continue;
        place_ = i;
        int used = places_used.load();
        while (used <= i && !places_used.compare_exchange_weak(used, i + 1)) {
        }
    }
}

kept_from_children::~kept_from_children()
{
    if (place_ != -1)
        kept_places[static_cast<std::size_t>(place_)].descriptor.store(nobodys);
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
