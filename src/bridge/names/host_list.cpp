#include "bridge/names/host_list.hpp"

#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>
#include <boost/algorithm/string/trim.hpp>
#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <charconv>

namespace zklock::bridge {

namespace {

constexpr std::uint16_t default_port = 2181;

bool is_host_name(std::string_view name)
{
    constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    return !name.empty() && name.size() <= 253 && name.find_first_not_of(allowed) == name.npos;
}

bool looks_like_an_ipv4_address(std::string_view name)
{
    return name.find_first_not_of("0123456789.") == name.npos;
}

bool read_port(std::string_view text, std::uint16_t& port)
{
    auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
    return failed == std::errc{} && end == text.data() + text.size() && port != 0;
}

bool read_server(std::string_view text, host_port& server)
{
    std::string_view host, rest;
    bool bracketed = text.starts_with('[');
    if (bracketed) {
        auto close = text.find(']');
        if (close == text.npos)
            return false;
        host = text.substr(1, close - 1);
        rest = text.substr(close + 1);
    } else {
        auto colon = text.find(':');
        host = text.substr(0, colon);
        rest = colon == text.npos ? std::string_view{} : text.substr(colon);
    }
    server.port = default_port;
    if (!rest.empty() && (rest.front() != ':' || !read_port(rest.substr(1), server.port)))
        return false;

    // What is made of an address ends at a NUL, and what follows its '%' could be anything.
    if (std::any_of(host.begin(), host.end(), [](unsigned char c) { return c <= ' ' || c >= 0x7f; }))
        return false;
    server.host = host;
    boost::system::error_code not_an_address;
    auto address = boost::asio::ip::make_address(server.host, not_an_address);
    server.numeric = !not_an_address;
    if (bracketed)
        return server.numeric && address.is_v6();
    return server.numeric || (is_host_name(host) && !looks_like_an_ipv4_address(host));
}

} // namespace

std::optional<std::vector<host_port>> parse_servers(std::string_view servers)
{
    std::vector<std::string> parts;
    boost::algorithm::split(parts, servers, boost::algorithm::is_any_of(","));
    std::vector<host_port> found;
    for (const std::string& each : parts) {
        host_port server;
        if (!read_server(boost::algorithm::trim_copy_if(each, boost::algorithm::is_any_of(" \t\r\n")), server))
            return std::nullopt;
        if (std::ranges::find(found, server) == found.end())
            found.push_back(std::move(server));
    }
    return found;
}

std::pair<std::string_view, std::string_view> split_chroot(std::string_view servers) noexcept
{
    const auto slash = std::min(servers.find('/'), servers.size());
    return {servers.substr(0, slash), servers.substr(slash)};
}

} // namespace zklock::bridge
