#pragma once
#include <cerrno>
#include <utility>

#include <unistd.h>

namespace zklock::runtime {

/// Owns a file descriptor.
class unique_fd {
public:
    unique_fd() = default;
    explicit unique_fd(int fd) noexcept : fd_(fd) {}
    unique_fd(unique_fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    unique_fd& operator=(unique_fd&& other) noexcept
    {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~unique_fd() { reset(); }

    [[nodiscard]] int get() const noexcept { return fd_; }
    [[nodiscard]] explicit operator bool() const noexcept { return fd_ != -1; }
    /// It is somebody else's from now on.
    int release() noexcept { return std::exchange(fd_, -1); }
    /// Leaves errno as it is.
    void reset() noexcept
    {
        if (fd_ == -1)
            return;
        const int error = errno;
        ::close(std::exchange(fd_, -1));
        errno = error;
    }

private:
    int fd_ = -1;
};

} // namespace zklock::runtime
