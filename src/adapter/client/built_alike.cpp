#include "zklock/detail/built_alike.hpp"

namespace zklock::detail {

// What the library was built with; same_library.cpp has what does not belong to Asio.
const char ZKLOCK_DETAIL_TRACKING = 0;
const char ZKLOCK_DETAIL_EPOLL = 0;
const char ZKLOCK_DETAIL_IO_URING = 0;
const char ZKLOCK_DETAIL_THREADS = 0;
const char ZKLOCK_DETAIL_RECYCLING = 0;
const char ZKLOCK_DETAIL_CACHE_SIZE = 0;

} // namespace zklock::detail
