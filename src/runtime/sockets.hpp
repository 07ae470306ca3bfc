#pragma once
#include <boost/system/error_code.hpp>

#include <cerrno>

#include <sys/socket.h>
#include <unistd.h>

namespace zklock::runtime {

/// Makes the descriptor the socket's own, or closes it.
template <class Socket>
[[nodiscard]] boost::system::error_code take_over(int descriptor, const typename Socket::protocol_type& protocol,
                                                  Socket& socket)
{
    boost::system::error_code ec;
    try {
        socket.assign(protocol, descriptor, ec);
    } catch (...) {
        ::close(descriptor);
        throw;
    }
    if (ec)
        ::close(descriptor);
    return ec;
}

/// Makes a descriptor that does not block, and makes it the socket's own. Asio's own open() is not used: it would leave
/// the descriptor to programs that are started meanwhile.
template <class Socket>
[[nodiscard]] boost::system::error_code open_socket(const typename Socket::protocol_type& protocol, Socket& socket)
{
    const int descriptor =
        ::socket(protocol.family(), protocol.type() | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol.protocol());
    if (descriptor == -1)
        return {errno, boost::system::system_category()};
    return take_over(descriptor, protocol, socket);
}

} // namespace zklock::runtime
