#pragma once
#include "servers/traffic.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

namespace zklock::bench {

/// A link of a given length to one server: every byte arrives that much later, in either direction, and as many can be
/// under way as there are. Works on a thread of its own. While the server's port is closed, connections are accepted
/// and closed at once, as by a server that is starting, or has no quorum: so all of them can be counted.
class relay {
public:
    relay(std::uint16_t server_port, std::chrono::microseconds one_way, traffic* counted = nullptr);
    ~relay();
    relay(const relay&) = delete;
    relay& operator=(const relay&) = delete;

    [[nodiscard]] std::string address() const { return address_; }

private:
    boost::asio::io_context io_{1};
    std::string address_;
    std::thread thread_;
};

} // namespace zklock::bench
