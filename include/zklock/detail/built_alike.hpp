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
#define ZKLOCK_DETAIL_TRACKING                                                                                         \
    this_program_defines_BOOST_ASIO_ENABLE_HANDLER_TRACKING_but_zklock_was_built_without_it_compile_both_alike
#else
#define ZKLOCK_DETAIL_TRACKING                                                                                         \
    zklock_was_built_with_BOOST_ASIO_ENABLE_HANDLER_TRACKING_but_this_program_is_not_compile_both_alike
#endif

#ifdef BOOST_ASIO_DISABLE_EPOLL
#define ZKLOCK_DETAIL_EPOLL                                                                                            \
    this_program_defines_BOOST_ASIO_DISABLE_EPOLL_but_zklock_was_built_without_it_compile_both_alike
#else
#define ZKLOCK_DETAIL_EPOLL zklock_was_built_with_BOOST_ASIO_DISABLE_EPOLL_but_this_program_is_not_compile_both_alike
#endif

#ifdef BOOST_ASIO_HAS_IO_URING
#define ZKLOCK_DETAIL_IO_URING                                                                                         \
    this_program_defines_BOOST_ASIO_HAS_IO_URING_but_zklock_was_built_without_it_compile_both_alike
#else
#define ZKLOCK_DETAIL_IO_URING zklock_was_built_with_BOOST_ASIO_HAS_IO_URING_but_this_program_is_not_compile_both_alike
#endif

#ifdef BOOST_ASIO_DISABLE_THREADS
#define ZKLOCK_DETAIL_THREADS                                                                                          \
    this_program_defines_BOOST_ASIO_DISABLE_THREADS_but_zklock_was_built_without_it_compile_both_alike
#else
#define ZKLOCK_DETAIL_THREADS                                                                                          \
    zklock_was_built_with_BOOST_ASIO_DISABLE_THREADS_but_this_program_is_not_compile_both_alike
#endif

#ifdef BOOST_ASIO_DISABLE_SMALL_BLOCK_RECYCLING
#define ZKLOCK_DETAIL_RECYCLING                                                                                        \
    this_program_defines_BOOST_ASIO_DISABLE_SMALL_BLOCK_RECYCLING_but_zklock_was_built_without_it_compile_both_alike
#else
#define ZKLOCK_DETAIL_RECYCLING                                                                                        \
    zklock_was_built_with_BOOST_ASIO_DISABLE_SMALL_BLOCK_RECYCLING_but_this_program_is_not_compile_both_alike
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
