// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/standard.hpp"

#include <concepts>
#include <iosfwd>
#include <string_view>
#include <type_traits>

namespace zklock {

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
