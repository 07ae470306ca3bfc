#include "bridge/wire/decoy.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <cerrno>
#include <string>

#include <sys/socket.h>
#include <unistd.h>

namespace zklock::bridge {

namespace ip = boost::asio::ip;

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
    ip::tcp::endpoint own(is_ipv4 ? ip::address(ip::address_v4::loopback()) : ip::address_v6::loopback(), 0);
    const int fd = ::socket(own.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd == -1)
        return false;
    auto size = static_cast<socklen_t>(own.size());
    if (::bind(fd, own.data(), size) != 0 || ::getsockname(fd, own.data(), &size) != 0) {
        const int error = errno;
        ::close(fd);
        errno = error;
        return false;
    }
    fd_ = fd;
    const std::string port = std::to_string(own.port());
    // The C client takes what follows the last colon for the port, and knows no brackets. All these are short enough to
    // need no memory of the heap.
    address_ = (is_ipv4 ? "127.0.0.1:" : "::1:") + port;
    logged_ = (is_ipv4 ? "127.0.0.1:" : "[::1]:") + port;
    return true;
}

} // namespace zklock::bridge
