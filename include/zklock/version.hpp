// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// The one place where the project's version stands: CMakeLists.txt reads it here. Versions are semantic ones
/// (https://semver.org): until 1.0, a new minor version may change what programs rely on, and a new patch may not.
/// CHANGELOG.md beside this file tells what has changed.

// A number, and nothing behind it: CMakeLists.txt wants the lines like this.

/// The first number of the version: from 1.0 on, programs may have to be changed for a new one.
#define ZKLOCK_VERSION_MAJOR 0
/// The second number: until 1.0, programs may have to be changed for a new one.
#define ZKLOCK_VERSION_MINOR 2
/// The third number: programs need not even be linked anew for a new one.
#define ZKLOCK_VERSION_PATCH 0

/// The version as one number, for `#if`: 1.2.3 is 1002003.
#define ZKLOCK_VERSION (ZKLOCK_VERSION_MAJOR * 1000000 + ZKLOCK_VERSION_MINOR * 1000 + ZKLOCK_VERSION_PATCH)

/// @cond
#define ZKLOCK_DETAIL_TEXT_(x) #x
#define ZKLOCK_DETAIL_TEXT(x) ZKLOCK_DETAIL_TEXT_(x)
/// @endcond

/// The version as text, as in `"1.2.3"`.
#define ZKLOCK_VERSION_STRING                                                                                          \
    ZKLOCK_DETAIL_TEXT(ZKLOCK_VERSION_MAJOR)                                                                           \
    "." ZKLOCK_DETAIL_TEXT(ZKLOCK_VERSION_MINOR) "." ZKLOCK_DETAIL_TEXT(ZKLOCK_VERSION_PATCH)
