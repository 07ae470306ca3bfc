#include "bridge/peers/addresses.hpp"

#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/address_v6.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace zklock::bridge::peering {

namespace ip = boost::asio::ip;

namespace {

address unmapped(const address& a)
{
    if (a.is_v6() && a.to_v6().is_v4_mapped())
        return ip::make_address_v4(ip::v4_mapped, a.to_v6());
    return a;
}

template <class Number> std::optional<Number> decimal(std::string_view text)
{
    Number number{};
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (wrong != std::errc() || end != text.data() + text.size() || (text.size() > 1 && text.front() == '0'))
        return std::nullopt;
    return number;
}

std::optional<address> bare_address(std::string_view text)
{
    constexpr std::size_t longest = 45; // of an IPv6 address that ends as one of IPv4
    // A scope would name one of this machine's links, and a zero byte would end the text before its end.
    if (text.size() > longest || text.find_first_of(std::string_view("%\0", 2)) != text.npos)
        return std::nullopt;
    boost::system::error_code wrong;
    const address read = ip::make_address(std::string(text), wrong);
    if (wrong)
        return std::nullopt;
    return unmapped(read);
}

bool is_link_local(const address& a)
{
    if (a.is_v6())
        return a.to_v6().is_link_local();
    return first_bits(a, 16) == ip::address_v4({169, 254, 0, 0});
}

bool contains(const network& n, const address& a)
{
    return n.first.is_v4() == a.is_v4() && first_bits(a, n.bits) == n.first;
}

bool is_of_own_machine(const network& n)
{
    if (n.first.is_v6())
        return n.bits == 128 && n.first.is_loopback();
    return n.bits >= 8 && n.first.is_loopback();
}

} // namespace

std::optional<address> parse_address(std::string_view text)
{
    if (text.size() < 2 || text.front() != '[' || text.back() != ']')
        return bare_address(text);
    const auto inside = text.substr(1, text.size() - 2);
    return inside.find(':') == inside.npos ? std::nullopt : bare_address(inside);
}

std::optional<endpoint> parse_endpoint(std::string_view text)
{
    const auto colon = text.rfind(':');
    if (colon == text.npos)
        return std::nullopt;
    const auto host = text.substr(0, colon);
    if (host.find(':') != host.npos && !host.starts_with('['))
        return std::nullopt; // an IPv6 address without a port, perhaps
    const auto port = decimal<std::uint16_t>(text.substr(colon + 1));
    const auto read = parse_address(host);
    if (!port || !read)
        return std::nullopt;
    return endpoint(*read, *port);
}

std::string text_of(const endpoint& of)
{
    const std::string host = of.address().to_string();
    return (of.address().is_v6() ? '[' + host + ']' : host) + ':' + std::to_string(of.port());
}

bool is_reachable_by_others(const address& given)
{
    const address a = unmapped(given);
    return !a.is_unspecified() && !a.is_multicast() && !is_link_local(a) && a != address(ip::address_v4::broadcast()) &&
           !(a.is_v6() && a.to_v6().scope_id() != 0);
}

address first_bits(const address& of, unsigned short count)
{
    if (of.is_v4())
        return ip::network_v4(of.to_v4(), count).network();
    return ip::network_v6(ip::address_v6(of.to_v6().to_bytes()), count).network();
}

std::optional<network> parse_network(std::string_view text)
{
    const auto slash = text.find('/');
    const auto first = bare_address(text.substr(0, slash));
    if (!first)
        return std::nullopt;
    const unsigned short most = first->is_v4() ? 32 : 128;
    if (slash == text.npos)
        return network{*first, most};
    // A mapped address would have bits of another kind.
    const bool was_v6 = text.substr(0, slash).find(':') != text.npos;
    const auto bits = decimal<unsigned short>(text.substr(slash + 1));
    if (!bits || *bits > most || was_v6 != first->is_v6() || first_bits(*first, *bits) != *first)
        return std::nullopt;
    return network{*first, *bits};
}

bool networks::contain(const address& given) const
{
    const address a = unmapped(given);
    if (!is_reachable_by_others(a))
        return false;
    // 0.0.0.0 and what else is in 0.0.0.0/8 is this machine, too, in some systems.
    const bool own = a.is_loopback() || (a.is_v4() && a.to_v4().to_bytes()[0] == 0);
    return std::ranges::any_of(listed_,
                               [&](const network& n) { return contains(n, a) && (!own || is_of_own_machine(n)); });
}

} // namespace zklock::bridge::peering
