#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace zklock::simulator {

/// The sequence number of a contender's name, whoever made it; nothing for other children.
[[nodiscard]] std::optional<std::int64_t> contender_sequence(std::string_view name);
/// Whether it is a reader's, likewise.
[[nodiscard]] bool is_reader(std::string_view name);

} // namespace zklock::simulator
