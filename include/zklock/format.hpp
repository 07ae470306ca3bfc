// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/client_options.hpp"
#include "zklock/errc.hpp"
#include "zklock/events.hpp"
#include "zklock/lock_options.hpp"
#include "zklock/node.hpp"

#include <string_view>
#include <version>

// `std::format` of this library's enumerations, which gives what `to_string()` does, padded like a string. Where the
// standard library has no <format> (gcc 12), including this does nothing. For {fmt} there is zklock/fmt.hpp.

#ifdef __cpp_lib_format
#include <format>

namespace zklock::detail {

template <class Enum> struct standard_formatter : std::formatter<std::string_view> {
    template <class Context> auto format(Enum e, Context& context) const
    {
        return std::formatter<std::string_view>::format(to_string(e), context);
    }
};

} // namespace zklock::detail

template <> struct std::formatter<zklock::acl> : zklock::detail::standard_formatter<zklock::acl> {};
template <> struct std::formatter<zklock::condition> : zklock::detail::standard_formatter<zklock::condition> {};
template <>
struct std::formatter<zklock::connection_state> : zklock::detail::standard_formatter<zklock::connection_state> {};
template <> struct std::formatter<zklock::errc> : zklock::detail::standard_formatter<zklock::errc> {};
template <>
struct std::formatter<zklock::lock_event::kind> : zklock::detail::standard_formatter<zklock::lock_event::kind> {};
template <> struct std::formatter<zklock::log_level> : zklock::detail::standard_formatter<zklock::log_level> {};
template <> struct std::formatter<zklock::loss_reason> : zklock::detail::standard_formatter<zklock::loss_reason> {};
template <> struct std::formatter<zklock::naming> : zklock::detail::standard_formatter<zklock::naming> {};
template <> struct std::formatter<zklock::node_kind> : zklock::detail::standard_formatter<zklock::node_kind> {};
template <> struct std::formatter<zklock::parent_kind> : zklock::detail::standard_formatter<zklock::parent_kind> {};
template <>
struct std::formatter<zklock::sasl_mechanism> : zklock::detail::standard_formatter<zklock::sasl_mechanism> {};
template <>
struct std::formatter<zklock::transaction::operation::kind>
    : zklock::detail::standard_formatter<zklock::transaction::operation::kind> {};
#endif
