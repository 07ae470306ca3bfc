// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/standard.hpp"

#include <boost/outcome/result.hpp>
#include <boost/system/error_code.hpp>

#include <cerrno>
#include <type_traits>
#include <utility>

namespace zklock {

using boost::system::error_code;

namespace detail {

template <class T> using outcome_result = boost::outcome_v2::result<T, error_code>;

} // namespace detail

/// What awaiting an operation gives: its value, or the error_code that says why there is none.
///
/// It is Boost.Outcome's `result`, with all that it can do, and converts from it and to it. In addition one can be made
/// of nothing: `asio::co_spawn` needs that of whatever a coroutine gives.
template <class T> class [[nodiscard]] result : public detail::outcome_result<T> {
    using base = detail::outcome_result<T>;

public:
    using base::base;
    /// No value: the error is `asio::error::operation_aborted`. So the result that `co_spawn` hands out beside an
    /// exception is nobody's success.
    result() noexcept : base(error_code(ECANCELED, boost::system::system_category())) {}
    /// From Boost.Outcome's own.
    result(const base& other) : base(other) {}
    /// The same, moved from.
    result(base&& other) noexcept(std::is_nothrow_move_constructible_v<base>) : base(std::move(other)) {}
};

} // namespace zklock
