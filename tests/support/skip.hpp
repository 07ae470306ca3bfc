#pragma once
#include <doctest/doctest.h>

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

} // namespace zklock::test
