#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zklock::chaos {

/// The exit status when servers or processes did not come up, which says nothing about the locks.
inline constexpr int could_not_play = 3;

struct rounds_options {
    double minutes = 1;
    std::optional<std::size_t> count; ///< how many rounds, however long they take; in place of `minutes`
    bool handoff = false;             ///< see worker_options
    std::uint64_t seed = 0;
    std::size_t members = 3;
    std::vector<std::string> nemeses; ///< empty: all
};

/// Lets client processes compete for locks while one misfortune after the other comes over them and their servers, and
/// then checks the history. Returns the exit status: 0 nothing wrong, 1 a violation, or could_not_play.
int run_rounds(const rounds_options& options);

} // namespace zklock::chaos
