#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace zklock::queue {

/// What replaces a contender's data to ask it to let go, byte for byte: Curator's `Revoker` writes it, and Curator's
/// holders compare all of it.
inline constexpr std::string_view revocation_request = "__REVOKE__";

/// Data longer than this are neither written nor looked at.
inline constexpr std::size_t longest_owner_data = 64 * 1024;

/// Who a contender is, as its node's data tell: the identifier on the first line, then a line `key=value` for each
/// property.
struct owner_data {
    using properties = std::map<std::string, std::string>;

    std::string identifier;
    properties more;
    bool revoked = false; ///< the data are a request to let go
};

/// The key of a line `handoff=address:port`, which says where the contender's client may be reached. It is no property,
/// unless its value is something else.
inline constexpr std::string_view handoff_key = "handoff";

/// Whether this looks like a numeric address (of IPv6 in brackets) and a port.
[[nodiscard]] bool looks_like_endpoint(std::string_view text) noexcept;

/// Those data with a line that says where their client may be reached; or without, if they would be too long to be
/// looked at.
[[nodiscard]] std::string with_handoff(std::string_view data, std::string_view endpoint);

/// What that line says; empty if there is none.
[[nodiscard]] std::string_view handoff_of(std::string_view data) noexcept;

[[nodiscard]] std::string write_owner_data(std::string_view identifier, const owner_data::properties& more);

/// Reads any data, of any client. Lines that are no properties are passed over; if a key comes twice, the first counts.
[[nodiscard]] owner_data read_owner_data(std::string_view data);

} // namespace zklock::queue
