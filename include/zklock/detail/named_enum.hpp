// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/standard.hpp"

#include <concepts>
#include <cstddef>
#include <iosfwd>
#include <string_view>
#include <type_traits>

namespace zklock {

namespace detail {

/// The enumerator's name, of those of all in their order.
template <class Enum, std::size_t count>
[[nodiscard]] constexpr std::string_view name_of(Enum e, const std::string_view (&names)[count]) noexcept
{
    const auto place = static_cast<std::size_t>(e);
    return place < count ? names[place] : "unknown";
}

} // namespace detail

/// Writes an enumerator of this library as to_string() names it.
template <class Enum>
    requires std::is_enum_v<Enum> && requires(Enum e) {
        {
            to_string(e)
        } noexcept -> std::same_as<std::string_view>;
    }
std::ostream& operator<<(std::ostream& out, Enum e)
{
    return out << to_string(e);
}

} // namespace zklock
