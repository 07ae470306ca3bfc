#pragma once
#include <cstdint>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>

namespace zklock::test {

/// This process's descriptors of connections to that port.
inline std::vector<int> sockets_to(std::uint16_t port)
{
    std::vector<int> found;
    for (int fd = 0; fd < 1024; ++fd) {
        sockaddr_in6 peer{}; // an IPv4 address has its port at the same place
        socklen_t size = sizeof peer;
        if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
            (peer.sin6_family == AF_INET || peer.sin6_family == AF_INET6) && ntohs(peer.sin6_port) == port)
            found.push_back(fd);
    }
    return found;
}

} // namespace zklock::test
