// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/version.hpp>

#include <version> // says which std::string the standard library has

// The library and the program that uses it have to be compiled with the same Boost, and with the same macros of the
// standard library: they change what types look like inside. Else the program would hang, or crash. So each file that
// includes this refers to a symbol for each of them, and the library has those that are right. An undefined symbol says
// by its name what differs. built_alike.hpp does the same for the macros of Asio.

#define ZKLOCK_DETAIL_JOIN_(a, b, c) a##b##c
#define ZKLOCK_DETAIL_JOIN(a, b, c) ZKLOCK_DETAIL_JOIN_(a, b, c)
#define ZKLOCK_DETAIL_BOOST                                                                                            \
    ZKLOCK_DETAIL_JOIN(this_program_uses_boost_, BOOST_VERSION, _but_zklock_was_built_with_another_compile_both_alike)
// The standard library always says which std::string it has, the old one (0) or the new one (1).
#define ZKLOCK_DETAIL_STRING                                                                                           \
    ZKLOCK_DETAIL_JOIN(this_program_defines_GLIBCXX_USE_CXX11_ABI_as_, _GLIBCXX_USE_CXX11_ABI,                         \
                       _but_zklock_was_built_with_another_compile_both_alike)

// Of a macro that one of them defines, and not the other.
#define ZKLOCK_DETAIL_ONLY_HERE(macro) this_program_defines_##macro##_but_zklock_was_built_without_it_compile_both_alike
#define ZKLOCK_DETAIL_ONLY_THERE(macro) zklock_was_built_with_##macro##_but_this_program_is_not_compile_both_alike

#ifdef _GLIBCXX_DEBUG
#define ZKLOCK_DETAIL_DEBUG ZKLOCK_DETAIL_ONLY_HERE(GLIBCXX_DEBUG)
#else
#define ZKLOCK_DETAIL_DEBUG ZKLOCK_DETAIL_ONLY_THERE(GLIBCXX_DEBUG)
#endif

// Neither the compiler nor the linker may leave out what bears this.
#if __has_cpp_attribute(gnu::retain)
#define ZKLOCK_DETAIL_KEPT [[gnu::used, gnu::retain]]
#else
#define ZKLOCK_DETAIL_KEPT [[gnu::used]]
#endif

namespace zklock::detail {

#pragma GCC visibility push(default)
extern const char ZKLOCK_DETAIL_BOOST;
extern const char ZKLOCK_DETAIL_DEBUG;
extern const char ZKLOCK_DETAIL_STRING;
#pragma GCC visibility pop

namespace {

// Each file that includes this has one of its own, so that the linker looks at each.
ZKLOCK_DETAIL_KEPT const char* const same_library[] = {&ZKLOCK_DETAIL_BOOST, &ZKLOCK_DETAIL_DEBUG,
                                                       &ZKLOCK_DETAIL_STRING};

} // namespace
} // namespace zklock::detail
