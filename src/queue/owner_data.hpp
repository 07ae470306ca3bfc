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

/// Whether these can be written so that they read the same, and not as a request.
[[nodiscard]] bool valid_owner_data(std::string_view identifier, const owner_data::properties& more) noexcept;

[[nodiscard]] std::string write_owner_data(std::string_view identifier, const owner_data::properties& more);

/// Reads any data, of any client. Lines that are no properties are passed over; if a key comes twice, the first counts.
[[nodiscard]] owner_data read_owner_data(std::string_view data);

} // namespace zklock::queue
