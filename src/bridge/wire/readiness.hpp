#pragma once
#include <poll.h>

namespace zklock::bridge {

/// Whether one of the events (POLLIN, POLLOUT), an error or a hang-up is there, without waiting for it.
[[nodiscard]] inline bool is_ready(int fd, short events) noexcept
{
    pollfd asked{fd, events, 0};
    return ::poll(&asked, 1, 0) == 1;
}

} // namespace zklock::bridge
