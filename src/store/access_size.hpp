#pragma once
#include "zklock/node.hpp"

#include <cstddef>

namespace zklock::store {

/// How many bytes of a request it takes.
[[nodiscard]] inline std::size_t size_of(const access_list& access) noexcept
{
    constexpr std::size_t number = 4; // an entry has three: what it allows, and how long its texts are
    std::size_t bytes = number;
    for (const access_entry& entry : access.entries())
        bytes += 3 * number + entry.scheme.size() + entry.id.size();
    return bytes;
}

} // namespace zklock::store
