#pragma once
#include "bridge/peers/addresses.hpp"
#include "zklock/client_options.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace zklock::bridge::peering {

/// What handoff_options say, read.
struct settings {
    endpoint listen;
    std::optional<address> advertised;              ///< nothing: where it listens, or what is found out
    std::optional<std::uint16_t> advertised_port{}; ///< nothing: the one it listens on
    std::vector<network> peers;
};

/// Nothing if `listen` is empty, or an option cannot be read.
[[nodiscard]] std::optional<settings> settings_of(const handoff_options&);

/// Reads `handoff_options::advertise` into the two members for it; says whether it can be read, and others can connect
/// there.
[[nodiscard]] bool read_advertised(const std::string& text, settings& into);

} // namespace zklock::bridge::peering
