#pragma once
#include <cstdint>
#include <cstdlib>
#include <random>

namespace zklock::test {

/// A seed for what a test leaves to chance, for it to print: that of the whole run (tests/run --seed), if there is one.
[[nodiscard]] inline std::uint64_t fresh_seed()
{
    const char* const of_the_run = std::getenv("ZKLOCK_TEST_SEED");
    return of_the_run ? std::strtoull(of_the_run, nullptr, 10) : std::random_device{}();
}

} // namespace zklock::test
