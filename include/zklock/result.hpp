#pragma once
#include "zklock/detail/standard.hpp"

#include <boost/outcome/result.hpp>
#include <boost/system/error_code.hpp>

namespace zklock {

using boost::system::error_code;

/// What awaiting an operation gives: its value, or the error_code that says why there is none.
template <class T> using result = boost::outcome_v2::result<T, boost::system::error_code>;

} // namespace zklock
