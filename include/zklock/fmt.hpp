// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/named.hpp"

#include <fmt/format.h>

#include <string_view>

// {fmt}'s support of this library's enumerations, which gives what `to_string()` does, padded like a string. The
// library itself does not need {fmt}. (`format_as` would need no header, but {fmt} takes texts from it only since 10.)

template <zklock::detail::named Enum> struct fmt::formatter<Enum> : fmt::formatter<fmt::string_view> {
    template <class Context> auto format(Enum e, Context& context) const
    {
        const std::string_view name = zklock::to_string(e);
        return fmt::formatter<fmt::string_view>::format({name.data(), name.size()}, context);
    }
};
