#include "c_client/neighbours.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace zklock::bench {

namespace {

sockaddr_un address_of(const std::string& name)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (name.size() >= sizeof address.sun_path)
        throw std::runtime_error("too long for a socket: " + name);
    std::memcpy(address.sun_path, name.c_str(), name.size());
    return address;
}

const sockaddr* plain(const sockaddr_un& address)
{
    return reinterpret_cast<const sockaddr*>(&address);
}

} // namespace

neighbours::neighbours(const request& asked)
    : board_(asked.text("board")), self_(asked.number("process")), processes_(asked.number("processes")),
      socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0))
{
    const auto name = name_of(self_);
    const auto address = address_of(name);
    if (socket_ < 0 || ::bind(socket_, plain(address), sizeof address) != 0)
        throw std::system_error(errno, std::generic_category(), name);
}

neighbours::~neighbours()
{
    ::close(socket_);
    ::unlink(name_of(self_).c_str());
}

std::optional<std::string> neighbours::hear()
{
    std::array<char, 512> text{};
    const auto size = ::recv(socket_, text.data(), text.size(), 0);
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return {};
    if (size < 0)
        throw std::system_error(errno, std::generic_category(), "what a neighbour tells");
    return std::string(text.data(), static_cast<std::size_t>(size));
}

std::string neighbours::name_of(std::int64_t process) const
{
    return board_ + '.' + std::to_string(process);
}

void neighbours::tell(std::int64_t process, const std::string& text)
{
    const auto name = name_of(process);
    const auto address = address_of(name);
    if (::sendto(socket_, text.data(), text.size(), 0, plain(address), sizeof address) < 0)
        throw std::system_error(errno, std::generic_category(), name);
}

} // namespace zklock::bench
