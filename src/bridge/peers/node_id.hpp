#pragma once
#include "store/peers.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace zklock::bridge::peering {

/// A commitment, as the 16 bytes of its uuid: what goes over the network.
using node_id = std::array<std::uint8_t, 16>;

/// Nothing if the text is no uuid in lower case.
[[nodiscard]] std::optional<node_id> id_of(const store::commitment& text) noexcept;
[[nodiscard]] store::commitment text_of(const node_id& id) noexcept;

/// The commitment that a hash stands for: its first 122 bits, shaped as a version 4 uuid.
[[nodiscard]] node_id shaped(const std::array<std::uint8_t, 32>& hash) noexcept;

} // namespace zklock::bridge::peering
