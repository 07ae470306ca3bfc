// Host lists, as users write them.
#include "bridge/names/host_list.hpp"
#include "input.hpp"

#include <arpa/inet.h>

#include <algorithm>

using namespace zklock;
using bridge::host_port;
using fuzz::require;

namespace {

bool is_address(const std::string& host, int family)
{
    in6_addr any{}; // large enough for either
    return host.find('\0') == host.npos && inet_pton(family, host.c_str(), &any) == 1;
}

void check_list(std::string_view list)
{
    const auto servers = bridge::parse_servers(list);
    if (!servers)
        return;
    require(!servers.value().empty(), "a list that can be read names somebody");
    require(servers.value().size() <= static_cast<std::size_t>(std::count(list.begin(), list.end(), ',')) + 1,
            "there are no more servers than parts");
    std::string again;
    for (const host_port& s : servers.value()) {
        require(s.port != 0, "a server has a port");
        require(std::count(servers.value().begin(), servers.value().end(), s) == 1, "no server comes twice");
        const bool v6 = s.host.find(':') != s.host.npos;
        // What follows a per cent sign names a network interface.
        const std::string address = v6 ? s.host.substr(0, s.host.find('%')) : s.host;
        require(s.numeric == is_address(address, v6 ? AF_INET6 : AF_INET),
                "an address is what the system takes for one");
        if (!s.numeric)
            require(!s.host.empty() && std::all_of(s.host.begin(), s.host.end(),
                                                   [](unsigned char c) {
                                                       return c < 0x80 && (std::isalnum(c) != 0 || c == '.' ||
                                                                           c == '-' || c == '_');
                                                   }),
                    "a name can be one of a host");
        require(std::none_of(s.host.begin(), s.host.end(), [](unsigned char c) { return c <= ' ' || c == 0x7f; }),
                "no control character gets through");
        again += again.empty() ? "" : " , ";
        again += (v6 ? '[' + s.host + ']' : s.host) + ':' + std::to_string(s.port);
    }
    const auto reread = bridge::parse_servers(again);
    require(reread && reread.value() == servers.value(), "written out, the list reads the same");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    check_list(fuzz::input(data, size).rest());
    return 0;
}
