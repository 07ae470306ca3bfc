// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/client_options.hpp"
#include "zklock/errc.hpp"
#include "zklock/events.hpp"
#include "zklock/lock_options.hpp"
#include "zklock/node.hpp"

#include <fmt/format.h>

#include <concepts>
#include <string_view>
#include <type_traits>

// {fmt}'s support of this library's enumerations, which gives what `to_string()` does, padded like a string. The
// library itself does not need {fmt}. (`format_as` would need no header, but {fmt} takes texts from it only since 10.)

namespace zklock::detail {

template <class Enum>
concept named_for_fmt = std::is_enum_v<Enum> && requires(Enum e) {
    {
        zklock::to_string(e)
    } -> std::same_as<std::string_view>;
};

} // namespace zklock::detail

template <zklock::detail::named_for_fmt Enum> struct fmt::formatter<Enum> : fmt::formatter<fmt::string_view> {
    template <class Context> auto format(Enum e, Context& context) const
    {
        const std::string_view name = zklock::to_string(e);
        return fmt::formatter<fmt::string_view>::format({name.data(), name.size()}, context);
    }
};
