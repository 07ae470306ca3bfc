// Endpoints as others write them into nodes, and networks as users list them. The first line is an endpoint, each other
// one a network.
#include "bridge/peers/addresses.hpp"
#include "input.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>

using namespace zklock;
using namespace zklock::bridge::peering;
using fuzz::require;

namespace {

/// An address as the system reads it: 16 bytes, those of IPv4 as a mapped address. Empty if it is none.
std::vector<std::uint8_t> read_by_system(const std::string& text)
{
    std::vector<std::uint8_t> bits(16);
    if (text.find('\0') != text.npos)
        return {};
    if (inet_pton(AF_INET6, text.c_str(), bits.data()) == 1)
        return bits;
    bits.assign(10, 0);
    bits.resize(12, 0xff);
    bits.resize(16);
    if (inet_pton(AF_INET, text.c_str(), bits.data() + 12) == 1)
        return bits;
    return {};
}

std::vector<std::uint8_t> bits_of(const address& a)
{
    return read_by_system(a.to_string());
}

bool is_mapped(const std::vector<std::uint8_t>& bits)
{
    const std::vector<std::uint8_t> front{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return std::equal(front.begin(), front.end(), bits.begin());
}

/// What may never be connected to, wherever it is listed.
bool is_forbidden(const std::vector<std::uint8_t>& bits)
{
    if (is_mapped(bits)) {
        const auto* v4 = bits.data() + 12;
        return v4[0] >= 224 ? (v4[0] < 240 || std::all_of(v4, v4 + 4, [](auto b) { return b == 255; }))
                            : (v4[0] == 169 && v4[1] == 254) || std::all_of(v4, v4 + 4, [](auto b) { return b == 0; });
    }
    return bits[0] == 0xff || (bits[0] == 0xfe && (bits[1] & 0xc0) == 0x80) ||
           std::all_of(bits.begin(), bits.end(), [](auto b) { return b == 0; });
}

bool is_loopback(const std::vector<std::uint8_t>& bits)
{
    if (is_mapped(bits))
        return bits[12] == 127;
    return bits[15] == 1 && std::all_of(bits.begin(), bits.end() - 1, [](auto b) { return b == 0; });
}

void check_endpoint(const endpoint& to, std::string_view text)
{
    require(text.size() < 64, "an endpoint is short");
    require(parse_endpoint(text_of(to)) == to, "written out, an endpoint reads the same");
    const auto colon = text.rfind(':');
    std::string host(text.substr(0, colon));
    if (host.starts_with('['))
        host = host.substr(1, host.size() - 2);
    const auto bits = read_by_system(host);
    require(!bits.empty() && bits == bits_of(to.address()), "an address is what the system takes for one");
    require(to.address().is_v4() == is_mapped(bits), "a mapped address is one of IPv4");
    require(std::to_string(to.port()) == text.substr(colon + 1), "a port is its decimal number");
}

void check_networks(const std::vector<network>& listed, const address& a)
{
    const auto bits = bits_of(a);
    if (!networks(listed).contain(a))
        return;
    require(!is_forbidden(bits), "what is never connected to is in no network");
    bool by_itself = false, within = false;
    for (const network& each : listed) {
        const auto first = bits_of(each.first);
        const unsigned count = each.bits + (each.first.is_v4() ? 96 : 0);
        bool same = each.first.is_v4() == a.is_v4();
        for (unsigned bit = 0; bit < count; ++bit)
            same = same && ((bits[bit / 8] ^ first[bit / 8]) & 0x80U >> bit % 8) == 0;
        within = within || same;
        by_itself = by_itself || (same && is_loopback(first) && each.bits >= 8);
    }
    require(within, "an address is in one of the networks, bit by bit");
    require(!is_loopback(bits) || by_itself, "the own machine has to be listed by itself");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fuzz::input in(data, size);
    const auto text = in.line();
    const auto to = parse_endpoint(text);
    if (to)
        check_endpoint(*to, text);
    std::vector<network> listed;
    while (!in.empty())
        if (const auto one = parse_network(in.line()))
            listed.push_back(*one);
    if (to)
        check_networks(listed, to->address());
    for (const network& each : listed)
        check_networks(listed, each.first);
    return 0;
}
