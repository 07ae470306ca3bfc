// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/client_options.hpp"
#include "zklock/errc.hpp"
#include "zklock/events.hpp"
#include "zklock/lock_options.hpp"
#include "zklock/node.hpp"

#include <fmt/format.h>

#include <string_view>

// {fmt}'s support of this library's enumerations, which gives what `to_string()` does, padded like a string. The
// library itself does not need {fmt}. (`format_as` would need no header, but {fmt} takes texts from it only since 10.)

namespace zklock::detail {

template <class Enum> struct fmt_formatter : fmt::formatter<fmt::string_view> {
    template <class Context> auto format(Enum e, Context& context) const
    {
        const std::string_view name = to_string(e);
        return fmt::formatter<fmt::string_view>::format({name.data(), name.size()}, context);
    }
};

} // namespace zklock::detail

template <> struct fmt::formatter<zklock::acl> : zklock::detail::fmt_formatter<zklock::acl> {};
template <> struct fmt::formatter<zklock::condition> : zklock::detail::fmt_formatter<zklock::condition> {};
template <>
struct fmt::formatter<zklock::connection_state> : zklock::detail::fmt_formatter<zklock::connection_state> {};
template <> struct fmt::formatter<zklock::errc> : zklock::detail::fmt_formatter<zklock::errc> {};
template <>
struct fmt::formatter<zklock::lock_event::kind> : zklock::detail::fmt_formatter<zklock::lock_event::kind> {};
template <> struct fmt::formatter<zklock::log_level> : zklock::detail::fmt_formatter<zklock::log_level> {};
template <> struct fmt::formatter<zklock::loss_reason> : zklock::detail::fmt_formatter<zklock::loss_reason> {};
template <> struct fmt::formatter<zklock::naming> : zklock::detail::fmt_formatter<zklock::naming> {};
template <> struct fmt::formatter<zklock::node_kind> : zklock::detail::fmt_formatter<zklock::node_kind> {};
template <> struct fmt::formatter<zklock::parent_kind> : zklock::detail::fmt_formatter<zklock::parent_kind> {};
template <> struct fmt::formatter<zklock::sasl_mechanism> : zklock::detail::fmt_formatter<zklock::sasl_mechanism> {};
template <>
struct fmt::formatter<zklock::transaction::operation::kind>
    : zklock::detail::fmt_formatter<zklock::transaction::operation::kind> {};
