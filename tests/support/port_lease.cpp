#include "support/port_lease.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>

namespace zklock::test {

namespace {

// Below the range from which the kernel takes ports for outgoing connections.
constexpr std::uint16_t first_port = 16'000;
constexpr std::uint16_t last_port = 32'000;

unique_fd reserve(std::uint16_t port)
{
    const auto name = "zklock-test-port-" + std::to_string(port);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size()); // a leading NUL makes it abstract
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    unique_fd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (!fd || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0)
        return {};
    return fd;
}

bool can_listen(std::uint16_t port)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    const unique_fd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const int on = 1;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    return fd && ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
           ::listen(fd.get(), 1) == 0;
}

} // namespace

port_lease::port_lease()
{
    std::mt19937 random{std::random_device{}()};
    std::uniform_int_distribution<int> pick{first_port, last_port};
    for (int attempt = 0; attempt < 1000; ++attempt) {
        const auto port = static_cast<std::uint16_t>(pick(random));
        auto reservation = reserve(port);
        if (!reservation || !can_listen(port))
            continue;
        port_ = port;
        reservation_ = std::move(reservation);
        return;
    }
    throw std::runtime_error("no free port found");
}

bool is_bound(std::uint16_t port)
{
    std::ostringstream end;
    end << ':' << std::hex << std::uppercase << std::setw(4) << std::setfill('0') << port;
    for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
        std::ifstream sockets(table);
        std::string number, local, remote, state;
        for (std::string line; std::getline(sockets, line);) {
            std::istringstream(line) >> number >> local >> remote >> state;
            if (state == "0A" && local.ends_with(end.str()))
                return true;
        }
    }
    return false;
}

} // namespace zklock::test
