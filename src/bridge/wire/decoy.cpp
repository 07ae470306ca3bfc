#include "bridge/wire/decoy.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <utility>

#include <sys/socket.h>

namespace zklock::bridge {

namespace ip = boost::asio::ip;

bool decoy::bind()
{
    if (fd_)
        return true;
    const bool is_ipv4 = family_ == family::ipv4;
    ip::tcp::endpoint own(is_ipv4 ? ip::address(ip::address_v4::loopback()) : ip::address_v6::loopback(), 0);
    runtime::unique_fd fd(::socket(own.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    auto size = static_cast<socklen_t>(own.size());
    if (!fd || ::bind(fd.get(), own.data(), size) != 0 || ::getsockname(fd.get(), own.data(), &size) != 0)
        return false;
    fd_ = std::move(fd);
    const std::string port = std::to_string(own.port());
    // The C client takes what follows the last colon for the port, and knows no brackets. All these are short enough to
    // need no memory of the heap.
    address_ = (is_ipv4 ? "127.0.0.1:" : "::1:") + port;
    logged_ = (is_ipv4 ? "127.0.0.1:" : "[::1]:") + port;
    return true;
}

} // namespace zklock::bridge
