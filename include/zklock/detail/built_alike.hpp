// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/same_library.hpp"

#include <boost/asio/detail/thread_info_base.hpp> // defines BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE

// What same_library.hpp does, for the macros of Asio: they change what its types look like inside, or which of two
// variables is meant. Where a mock stands in for the library, the symbols of both headers are missing: it includes
// this one, and defines each variable by its macro, as in `const char zklock::detail::ZKLOCK_DETAIL_BOOST = 0;`.

#define ZKLOCK_DETAIL_CACHE_SIZE                                                                                       \
    ZKLOCK_DETAIL_JOIN(this_program_defines_BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE_as_,                             \
                       BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE,                                                      \
                       _but_zklock_was_built_with_another_compile_both_alike)

#if defined(BOOST_ASIO_ENABLE_HANDLER_TRACKING) || defined(BOOST_ASIO_CUSTOM_HANDLER_TRACKING)
#define ZKLOCK_DETAIL_TRACKING ZKLOCK_DETAIL_ONLY_HERE(BOOST_ASIO_ENABLE_HANDLER_TRACKING)
#else
#define ZKLOCK_DETAIL_TRACKING ZKLOCK_DETAIL_ONLY_THERE(BOOST_ASIO_ENABLE_HANDLER_TRACKING)
#endif

#ifdef BOOST_ASIO_DISABLE_EPOLL
#define ZKLOCK_DETAIL_EPOLL ZKLOCK_DETAIL_ONLY_HERE(BOOST_ASIO_DISABLE_EPOLL)
#else
#define ZKLOCK_DETAIL_EPOLL ZKLOCK_DETAIL_ONLY_THERE(BOOST_ASIO_DISABLE_EPOLL)
#endif

#ifdef BOOST_ASIO_HAS_IO_URING
#define ZKLOCK_DETAIL_IO_URING ZKLOCK_DETAIL_ONLY_HERE(BOOST_ASIO_HAS_IO_URING)
#else
#define ZKLOCK_DETAIL_IO_URING ZKLOCK_DETAIL_ONLY_THERE(BOOST_ASIO_HAS_IO_URING)
#endif

#ifdef BOOST_ASIO_DISABLE_THREADS
#define ZKLOCK_DETAIL_THREADS ZKLOCK_DETAIL_ONLY_HERE(BOOST_ASIO_DISABLE_THREADS)
#else
#define ZKLOCK_DETAIL_THREADS ZKLOCK_DETAIL_ONLY_THERE(BOOST_ASIO_DISABLE_THREADS)
#endif

#ifdef BOOST_ASIO_DISABLE_SMALL_BLOCK_RECYCLING
#define ZKLOCK_DETAIL_RECYCLING ZKLOCK_DETAIL_ONLY_HERE(BOOST_ASIO_DISABLE_SMALL_BLOCK_RECYCLING)
#else
#define ZKLOCK_DETAIL_RECYCLING ZKLOCK_DETAIL_ONLY_THERE(BOOST_ASIO_DISABLE_SMALL_BLOCK_RECYCLING)
#endif

namespace zklock::detail {

#pragma GCC visibility push(default)
extern const char ZKLOCK_DETAIL_TRACKING;
extern const char ZKLOCK_DETAIL_EPOLL;
extern const char ZKLOCK_DETAIL_IO_URING;
extern const char ZKLOCK_DETAIL_THREADS;
extern const char ZKLOCK_DETAIL_RECYCLING;
extern const char ZKLOCK_DETAIL_CACHE_SIZE;
#pragma GCC visibility pop

namespace {

// As in same_library.hpp.
ZKLOCK_DETAIL_KEPT const char* const built_alike[] = {&ZKLOCK_DETAIL_TRACKING,  &ZKLOCK_DETAIL_EPOLL,
                                                      &ZKLOCK_DETAIL_IO_URING,  &ZKLOCK_DETAIL_THREADS,
                                                      &ZKLOCK_DETAIL_RECYCLING, &ZKLOCK_DETAIL_CACHE_SIZE};

} // namespace
} // namespace zklock::detail
