#pragma once
#include <boost/system/error_code.hpp>

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

} // namespace zklock::runtime
