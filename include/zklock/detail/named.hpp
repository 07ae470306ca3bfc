// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/client_options.hpp"
#include "zklock/errc.hpp"
#include "zklock/events.hpp"
#include "zklock/lock_options.hpp"
#include "zklock/node.hpp"

#include <concepts>
#include <string_view>
#include <type_traits>

namespace zklock::detail {

/// An enumeration of this library.
template <class Enum>
concept named = std::is_enum_v<Enum> && requires(Enum e) {
    {
        zklock::to_string(e)
    } -> std::same_as<std::string_view>;
};

} // namespace zklock::detail
