#pragma once

// The one place where the project's version stands: CMakeLists.txt reads it here. Versions are semantic ones
// (https://semver.org): until 1.0, a new minor version may change what programs rely on, and a new patch may not.
// CHANGELOG.md beside this file tells what has changed.

#define ZKLOCK_VERSION_MAJOR 0
#define ZKLOCK_VERSION_MINOR 1
#define ZKLOCK_VERSION_PATCH 0

/// The version as one number, for `#if`: 1.2.3 is 1002003.
#define ZKLOCK_VERSION (ZKLOCK_VERSION_MAJOR * 1000000 + ZKLOCK_VERSION_MINOR * 1000 + ZKLOCK_VERSION_PATCH)

#define ZKLOCK_DETAIL_TEXT_(x) #x
#define ZKLOCK_DETAIL_TEXT(x) ZKLOCK_DETAIL_TEXT_(x)

/// The version as text, as in `"1.2.3"`.
#define ZKLOCK_VERSION_STRING                                                                                          \
    ZKLOCK_DETAIL_TEXT(ZKLOCK_VERSION_MAJOR)                                                                           \
    "." ZKLOCK_DETAIL_TEXT(ZKLOCK_VERSION_MINOR) "." ZKLOCK_DETAIL_TEXT(ZKLOCK_VERSION_PATCH)
