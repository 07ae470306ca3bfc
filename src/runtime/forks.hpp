#pragma once

namespace zklock::runtime {

/// How many forks lie between the first call of this and the present process: a process that was forked off since then
/// gets another number than its parent. It is cheap: it makes no system call. @throws std::bad_alloc, the first time.
[[nodiscard]] unsigned fork_count();

/// As long as it lives, a process that is forked off has another file in the place of that socket, which is the
/// parent's alone: who is at its other end finds it closed when the parent has closed it. Some thousand sockets may be
/// kept so at a time; those beyond stay with the children, too, until these end or execute another program.
class kept_from_children {
public:
    explicit kept_from_children(int descriptor) noexcept; ///< fork_count() has been called
    ~kept_from_children();                                ///< before the descriptor is closed
    kept_from_children(const kept_from_children&) = delete;
    kept_from_children& operator=(const kept_from_children&) = delete;

private:
    int place_ = -1;
};

/// In a forked process of which Asio was not told: closes the parent's socket here, and leaves it open there. Where it
/// is not told, Asio takes a descriptor that it closes off the epoll set that the parent uses; so what it finds under
/// that number has to be another file, and is, from now on.
void leave_to_parent(int descriptor) noexcept;

} // namespace zklock::runtime
