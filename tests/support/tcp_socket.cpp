#include "support/tcp_socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <stdexcept>
#include <system_error>

namespace zklock::test {

namespace {

[[noreturn]] void fail(int error, const char* what)
{
    throw std::system_error(error, std::generic_category(), what);
}

} // namespace

tcp_socket::tcp_socket(std::uint16_t port, milliseconds limit)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), limit_(limit)
{
    if (!fd_)
        fail(errno, "socket");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        if (errno != EINPROGRESS)
            fail(errno, "connect");
        wait_for(POLLOUT, steady_clock::now() + limit_);
        int error = 0;
        socklen_t size = sizeof error;
        ::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
        if (error != 0)
            fail(error, "connect");
    }
    const int on = 1;
    ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void tcp_socket::wait_for(short events, steady_clock::time_point end)
{
    pollfd entry{fd_.get(), events, 0};
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
    // This process may have stood still past the end, and the other side has had no time to answer.
    const auto time = std::max(left, std::min(limit_, milliseconds{200}));
    const int ready = ::poll(&entry, 1, static_cast<int>(time.count()));
    if (ready < 0 && errno != EINTR)
        fail(errno, "poll");
    if (ready == 0)
        throw std::runtime_error("no answer from the peer within " + std::to_string(limit_.count()) + " ms");
}

void tcp_socket::send(std::string_view bytes)
{
    const auto end = steady_clock::now() + limit_;
    while (!bytes.empty()) {
        const auto sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent >= 0)
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        else if (errno == EAGAIN)
            wait_for(POLLOUT, end);
        else if (errno != EINTR)
            fail(errno, "send");
    }
}

std::string tcp_socket::receive(std::size_t count)
{
    const auto end = steady_clock::now() + limit_;
    std::string bytes(count, '\0');
    std::size_t filled = 0;
    while (filled < count) {
        const auto got = ::recv(fd_.get(), bytes.data() + filled, count - filled, 0);
        if (got > 0)
            filled += static_cast<std::size_t>(got);
        else if (got == 0)
            throw std::runtime_error("the peer closed the connection");
        else if (errno == EAGAIN)
            wait_for(POLLIN, end);
        else if (errno != EINTR)
            fail(errno, "recv");
    }
    return bytes;
}

std::string tcp_socket::receive_to_end()
{
    const auto end = steady_clock::now() + limit_;
    std::string bytes;
    char buffer[16 * 1024];
    for (;;) {
        const auto got = ::recv(fd_.get(), buffer, sizeof buffer, 0);
        if (got > 0)
            bytes.append(buffer, static_cast<std::size_t>(got));
        else if (got == 0)
            return bytes;
        else if (errno == EAGAIN)
            wait_for(POLLIN, end);
        else if (errno != EINTR)
            fail(errno, "recv");
    }
}

} // namespace zklock::test
