#pragma once
#include "plan.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace zklock::simulator {

struct verdict {
    std::string violation; ///< empty: none
    std::uint64_t events = 0;
    std::uint64_t grants = 0;
    std::vector<placed_fault> fired;       ///< those placed by chance
    std::string trace;                     ///< if wanted
    std::vector<noted_request> requests{}; ///< likewise
    instant ended{0};                      ///< when nothing was left to happen
    std::uint64_t overtaking = 0;          ///< grants, before the servers had done the release
};

/// Runs one schedule from its beginning to its quiet end.
[[nodiscard]] verdict simulate(const plan& p, bool traced);

} // namespace zklock::simulator
