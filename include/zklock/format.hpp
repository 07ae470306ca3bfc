// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/named.hpp"

#include <string_view>
#include <version>

// `std::format` of this library's enumerations, which gives what `to_string()` does, padded like a string. Where the
// standard library has no <format> (gcc 12), including this does nothing. For {fmt} there is zklock/fmt.hpp.

#ifdef __cpp_lib_format
#include <format>

template <zklock::detail::named Enum> struct std::formatter<Enum> : std::formatter<std::string_view> {
    template <class Context> auto format(Enum e, Context& context) const
    {
        return std::formatter<std::string_view>::format(zklock::to_string(e), context);
    }
};
#endif
