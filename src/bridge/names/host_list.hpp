#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zklock::bridge {

struct host_port {
    std::string host; ///< a name, or an address without brackets
    std::uint16_t port = 0;
    bool numeric = false; ///< an address: nothing to resolve

    friend bool operator==(const host_port&, const host_port&) = default;
};

/// Reads `host:port,host:port`. IPv6 addresses stand in brackets; the port is 2181 if there is none. Nothing when it
/// cannot be read.
[[nodiscard]] std::optional<std::vector<host_port>> parse_servers(std::string_view servers);

/// Takes `host:port,host:port/chroot` apart, the form of other clients. The second begins with the slash, or is empty.
[[nodiscard]] std::pair<std::string_view, std::string_view> split_chroot(std::string_view servers) noexcept;

} // namespace zklock::bridge
