#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace zklock::queue {

/// What a contender's data are replaced by to ask it to let go, byte for byte: as Curator's `Revoker` does, whose
/// holders compare all of it.
inline constexpr std::string_view revocation_request = "__REVOKE__";

/// More than that is neither written nor looked at.
inline constexpr std::size_t longest_owner_data = 64 * 1024;

/// Who a contender is, as its node's data tell: the identifier on the first line, then a line `key=value` for each
/// property.
struct owner_data {
    using properties = std::map<std::string, std::string>;

    std::string identifier;
    properties more;
    bool revoked = false; ///< the data are a request to let go
};

/// Whether it can be written so that it reads the same, and as no request.
[[nodiscard]] bool valid_owner_data(std::string_view identifier, const owner_data::properties& more) noexcept;

[[nodiscard]] std::string write_owner_data(std::string_view identifier, const owner_data::properties& more);

/// Of any data, whoever wrote them. Lines that are no properties are passed over; of a key that comes twice, the first
/// counts.
[[nodiscard]] owner_data read_owner_data(std::string_view data);

} // namespace zklock::queue
