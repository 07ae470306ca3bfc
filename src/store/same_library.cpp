#include "zklock/detail/same_library.hpp"

namespace zklock::detail {

// What the library was built with; built_alike.cpp has the macros of Asio.
const char ZKLOCK_DETAIL_BOOST = 0;
const char ZKLOCK_DETAIL_DEBUG = 0;
const char ZKLOCK_DETAIL_STRING = 0;

} // namespace zklock::detail
