#pragma once
#include <zklock/result.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace zklock::tool {

/// One server of a list.
struct server_address {
    server_address() = default;

    std::string host;
    std::string port = "2181";
    [[nodiscard]] std::string text() const
    {
        return host.find(':') == host.npos ? host + ':' + port : '[' + host + "]:" + port;
    }
};

/// The servers in `host:port,host:port/chroot`, and the chroot (empty if there is none).
[[nodiscard]] std::vector<server_address> servers_in(const std::string& list);
[[nodiscard]] std::string chroot_in(const std::string& list);

/// What a server answers to one of ZooKeeper's four-letter words, over its plain port.
[[nodiscard]] boost::asio::awaitable<result<std::string>> ask_server(server_address whom, std::string word,
                                                                     std::chrono::milliseconds limit);

/// The value in a line `Mode: leader` of such an answer, or in a line `tickTime=2000`; empty if there is no such line.
[[nodiscard]] std::string value_in(const std::string& answer, const std::string& key);

} // namespace zklock::tool
