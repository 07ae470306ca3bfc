#pragma once
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zklock::bridge::peering {

using address = boost::asio::ip::address;
using endpoint = boost::asio::ip::tcp::endpoint;

// All are numeric, and none has a scope. An IPv4 address that is written as one of IPv6 is the IPv4 address: what is
// said of networks holds for it.

/// Reads `10.0.0.1:7411` or `[2001:db8::1]:7411`.
[[nodiscard]] std::optional<endpoint> parse_endpoint(std::string_view text);
/// Reads `10.0.0.1`, `2001:db8::1` or `[2001:db8::1]`.
[[nodiscard]] std::optional<address> parse_address(std::string_view text);
/// Writes an endpoint as parse_endpoint() reads it.
[[nodiscard]] std::string text_of(const endpoint&);

/// What other machines can be told to connect to: no address that stands for any or for several, or that means another
/// machine on each link.
[[nodiscard]] bool is_reachable_by_others(const address&);

/// The address with zeros behind its first bits, and without a scope.
[[nodiscard]] address first_bits(const address& of, unsigned short count);

/// `10.0.0.0/8`, say.
struct network {
    address first;
    unsigned short bits = 0; ///< so many of an address are those of `first`

    friend bool operator==(const network&, const network&) = default;
};
/// Reads `10.0.0.0/8`, `2001:db8::/32`, or an address, which is a network of its own. The bits behind have to be 0,
/// since somebody who writes others means another network.
[[nodiscard]] std::optional<network> parse_network(std::string_view text);

/// Networks in which a client may connect to what others have written.
class networks {
public:
    explicit networks(std::vector<network> listed) : listed_(std::move(listed)) {}

    [[nodiscard]] bool contain(const address&) const;

private:
    std::vector<network> listed_;
};

} // namespace zklock::bridge::peering
