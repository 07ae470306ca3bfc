#pragma once
#include "zklock/mutex_options.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zklock::queue {

/// The name to ask the server to complete with a sequence number. `uuid` (36 characters) makes the node recognisable when
/// the answer to its create is lost; the idea is Curator's "protected" create.
[[nodiscard]] std::string name_prefix(naming, std::string_view uuid);

/// The place in the queue of a child's name: the sequence number it ends with, or nothing when the child is no contender.
/// Contenders of all clients that share lock paths are known: whatever comes before `lock-` (Curator, go-zookeeper) or
/// `__lock__` (kazoo) and the number does not count.
[[nodiscard]] std::optional<std::int32_t> sequence_of(std::string_view child) noexcept;

/// What was asked for, before the server completed it: of a child whose number is `sequence`.
[[nodiscard]] std::string_view prefix_of(std::string_view child, std::int32_t sequence) noexcept;

inline constexpr std::size_t sequence_digits = 10;

/// Where a parent's numbers are too close to their end at 2^31, past which they turn negative and no longer grow.
inline constexpr std::int32_t sequence_limit = 2'147'000'000;

} // namespace zklock::queue
