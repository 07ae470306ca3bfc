#pragma once
#include <atomic>
#include <memory>

namespace zklock::runtime {

/// How many forks lie between the first call of this and the present process: a process that was forked off since then
/// gets another number than its parent. It is cheap: it makes no system call. @throws std::bad_alloc, the first time.
[[nodiscard]] unsigned fork_count();

/// What the threads of a process share: in a forked process there are none of them, and one of the parent's may have
/// had its mutex. So it is left as it was, and replaced, and no mutex can guard that: of several threads that come
/// here, the first one does it. It is made with fork_count(), and has that as `of_process`.
template <class Shared> [[nodiscard]] Shared& of_this_process(std::atomic<Shared*>& current)
{
    Shared* own = current.load(std::memory_order_acquire);
    const unsigned forks = fork_count();
    if (!own || own->of_process != forks) {
        auto fresh = std::make_unique<Shared>(forks);
        if (current.compare_exchange_strong(own, fresh.get(), std::memory_order_acq_rel))
            own = fresh.release();
    }
    return *own;
}

/// As long as it lives, a process that is forked off has another file in the place of that socket, which is the
/// parent's alone: who is at its other end finds it closed when the parent has closed it. Some thousand sockets may be
/// kept so at a time; those beyond stay with the children, too, until these end or execute another program.
class kept_from_children {
public:
    explicit kept_from_children(int descriptor) noexcept; ///< fork_count() has been called
    ~kept_from_children();                                ///< before the descriptor is closed
    kept_from_children& operator=(kept_from_children&&) = delete;

private:
    std::atomic<int>* place_ = nullptr;
};

/// In a forked process of which Asio was not told: closes the parent's socket here, and leaves it open there. Where it
/// is not told, Asio takes a descriptor that it closes off the epoll set that the parent uses; so what it finds under
/// that number has to be another file, and is, from now on.
void leave_to_parent(int descriptor) noexcept;

} // namespace zklock::runtime
