#include "bridge/wire/decoy.hpp"

#include <cerrno>
#include <string>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace zklock::bridge {

namespace {

union any_address {
    sockaddr plain;
    sockaddr_in ipv4;
    sockaddr_in6 ipv6;
};

} // namespace

decoy::~decoy()
{
    if (fd_ != -1)
        ::close(fd_);
}

bool decoy::bind()
{
    if (fd_ != -1)
        return true;
    const bool is_ipv4 = family_ == family::ipv4;
    any_address own{};
    socklen_t size = is_ipv4 ? sizeof own.ipv4 : sizeof own.ipv6;
    if (is_ipv4) {
        own.ipv4.sin_family = AF_INET;
        own.ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    } else {
        own.ipv6.sin6_family = AF_INET6;
        own.ipv6.sin6_addr = in6addr_loopback;
    }
    const int fd = ::socket(own.plain.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd == -1)
        return false;
    if (::bind(fd, &own.plain, size) != 0 || ::getsockname(fd, &own.plain, &size) != 0) {
        const int error = errno;
        ::close(fd);
        errno = error;
        return false;
    }
    fd_ = fd;
    const std::string port = std::to_string(ntohs(is_ipv4 ? own.ipv4.sin_port : own.ipv6.sin6_port));
    // The C client takes what follows the last colon for the port, and knows no brackets. All these are short enough to
    // need no memory of the heap.
    address_ = (is_ipv4 ? "127.0.0.1:" : "::1:") + port;
    logged_ = (is_ipv4 ? "127.0.0.1:" : "[::1]:") + port;
    return true;
}

} // namespace zklock::bridge
