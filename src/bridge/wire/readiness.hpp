#pragma once
#include <poll.h>

namespace zklock::bridge {

/// Whether one of these events of poll() is there, or an error, or a hang-up. It does not wait for any of them.
[[nodiscard]] inline bool is_ready(int fd, short events) noexcept
{
    pollfd asked{fd, events, 0};
    return ::poll(&asked, 1, 0) == 1;
}

} // namespace zklock::bridge
