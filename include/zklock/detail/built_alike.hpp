#pragma once
#include <boost/asio/detail/thread_info_base.hpp> // defines BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE
#include <boost/version.hpp>

// The library and the program that uses it have to be compiled with the same Boost, and with the same of the macros
// below: they change what types of Asio and of the standard library look like inside, or which of two variables is
// meant. Else the program would hang, or crash. So each file that includes this refers to a symbol for each of them,
// and the library has those that are right. An undefined symbol says by its name what differs. Where a
// mock stands in for the library, they are all missing: the mock includes this file, and defines each of the variables
// below by its macro, as in `const char zklock::detail::ZKLOCK_DETAIL_BOOST = 0;`.

#define ZKLOCK_DETAIL_JOIN_(a, b, c) a##b##c
#define ZKLOCK_DETAIL_JOIN(a, b, c) ZKLOCK_DETAIL_JOIN_(a, b, c)
#define ZKLOCK_DETAIL_BOOST                                                                                            \
    ZKLOCK_DETAIL_JOIN(this_program_uses_boost_, BOOST_VERSION, _but_zklock_was_built_with_another_compile_both_alike)
#define ZKLOCK_DETAIL_CACHE_SIZE                                                                                       \
    ZKLOCK_DETAIL_JOIN(this_program_defines_BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE_as_,                             \
                       BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE,                                                      \
                       _but_zklock_was_built_with_another_compile_both_alike)
// The standard library always says which std::string it has, the old one (0) or the new one (1).
#define ZKLOCK_DETAIL_STRING                                                                                           \
    ZKLOCK_DETAIL_JOIN(this_program_defines_GLIBCXX_USE_CXX11_ABI_as_, _GLIBCXX_USE_CXX11_ABI,                         \
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

#ifdef _GLIBCXX_DEBUG
#define ZKLOCK_DETAIL_DEBUG this_program_defines_GLIBCXX_DEBUG_but_zklock_was_built_without_it_compile_both_alike
#else
#define ZKLOCK_DETAIL_DEBUG zklock_was_built_with_GLIBCXX_DEBUG_but_this_program_is_not_compile_both_alike
#endif

namespace zklock::detail {

#pragma GCC visibility push(default)
extern const char ZKLOCK_DETAIL_BOOST;
extern const char ZKLOCK_DETAIL_TRACKING;
extern const char ZKLOCK_DETAIL_EPOLL;
extern const char ZKLOCK_DETAIL_IO_URING;
extern const char ZKLOCK_DETAIL_THREADS;
extern const char ZKLOCK_DETAIL_RECYCLING;
extern const char ZKLOCK_DETAIL_CACHE_SIZE;
extern const char ZKLOCK_DETAIL_DEBUG;
extern const char ZKLOCK_DETAIL_STRING;
#pragma GCC visibility pop

namespace {

// Of each file its own, so that each is looked at. Neither the compiler nor the linker may leave it out.
#if __has_cpp_attribute(gnu::retain)
[[gnu::used, gnu::retain]]
#else
[[gnu::used]]
#endif
const char* const built_alike[] = {&ZKLOCK_DETAIL_BOOST,     &ZKLOCK_DETAIL_TRACKING,  &ZKLOCK_DETAIL_EPOLL,
                                   &ZKLOCK_DETAIL_IO_URING,  &ZKLOCK_DETAIL_THREADS,   &ZKLOCK_DETAIL_RECYCLING,
                                   &ZKLOCK_DETAIL_CACHE_SIZE, &ZKLOCK_DETAIL_DEBUG,     &ZKLOCK_DETAIL_STRING};

} // namespace
} // namespace zklock::detail
