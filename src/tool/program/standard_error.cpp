#include "tool/program/standard_error.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace zklock::tool {
namespace {

/// Opens a pipe or a terminal again, so that a write returns at once. (O_NONBLOCK at the descriptor itself would be set
/// for all who share it: the command, and the shell.) Gives -1 for other files, and where there is no /proc.
int open_again()
{
    struct stat what {};
    if (::fstat(STDERR_FILENO, &what) != 0 || !(S_ISFIFO(what.st_mode) || S_ISCHR(what.st_mode)))
        return -1;
    return ::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

ssize_t write_at_once(const std::string& text)
{
    static const int own = open_again();
    if (own >= 0)
        return ::write(own, text.data(), text.size());
    const ssize_t sent = ::send(STDERR_FILENO, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0 || errno != ENOTSOCK)
        return sent;
    pollfd room{STDERR_FILENO, POLLOUT, 0}; // a file always has it
    if (::poll(&room, 1, 0) != 1 || (room.revents & POLLOUT) == 0)
        return -1;
    return ::write(STDERR_FILENO, text.data(), text.size());
}

} // namespace

void write_to_stderr(std::string text)
{
    static bool cut = false; // the last text was, so the next one begins a line of its own
    if (cut)
        text.insert(0, 1, '\n');
    const ssize_t written = write_at_once(text);
    if (written > 0)
        cut = static_cast<std::size_t>(written) < text.size();
}

} // namespace zklock::tool
