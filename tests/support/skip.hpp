#pragma once
#include <doctest/doctest.h>

#include <cstdio>
#include <string>

namespace zklock::test {

/// The exit status of a program that has skipped something, and has not failed: CTest lists its test as skipped.
inline constexpr int skipped_status = 4;
inline bool has_skipped = false;

/// To be called by a test that cannot be played here: says why, and has the program end with that status.
inline void skip(const std::string& why)
{
    MESSAGE("skipped: ", why);
    has_skipped = true;
}

/// For a file none of whose tests can be played here, before they are: `TEST_SUITE_BEGIN("name" * skipped_if(...))`.
inline doctest::skip skipped_if(bool here, const char* why)
{
    if (here && !has_skipped)
        std::fprintf(stderr, "skipped: %s\n", why);
    has_skipped = has_skipped || here;
    return doctest::skip(here);
}

} // namespace zklock::test
