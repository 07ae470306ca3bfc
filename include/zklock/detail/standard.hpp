// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __cplusplus < 202002L
#error "zklock needs C++20: compile with -std=c++20 or a later standard"
#endif

#ifndef __cpp_exceptions
#error "zklock needs exceptions: compile without -fno-exceptions"
#endif

#include <version> // says which standard library it is of
#ifdef _LIBCPP_VERSION
#error "zklock needs libstdc++: compile without -stdlib=libc++"
#endif
