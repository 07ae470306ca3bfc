#pragma once
#include "runtime/unique_fd.hpp"

#include <boost/system/error_code.hpp>

#include <cerrno>
#include <utility>

#include <sys/socket.h>

namespace zklock::runtime {

/// Makes the descriptor the socket's own, or closes it.
template <class Socket>
[[nodiscard]] boost::system::error_code take_over(unique_fd descriptor, const typename Socket::protocol_type& protocol,
                                                  Socket& socket)
{
    boost::system::error_code ec;
    socket.assign(protocol, descriptor.get(), ec);
    if (!ec)
        descriptor.release();
    return ec;
}

/// Makes a descriptor that does not block, and makes it the socket's own. Asio's own open() is not used: it would leave
/// the descriptor to programs that are started meanwhile.
template <class Socket>
[[nodiscard]] boost::system::error_code open_socket(const typename Socket::protocol_type& protocol, Socket& socket)
{
    unique_fd descriptor(
        ::socket(protocol.family(), protocol.type() | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol.protocol()));
    if (!descriptor)
        return {errno, boost::system::system_category()};
    return take_over(std::move(descriptor), protocol, socket);
}

} // namespace zklock::runtime
