#pragma once
#include "chaos/misfortune.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace zklock::chaos {

/// What comes in which round: by chance, but that among the first twelve rounds servers and clients are killed and
/// stopped at least once. Of fewer rounds it is among those, from two on. Where time decides how many there are, it is
/// among the first four.
class round_plan {
public:
    /// Draws of `random`, which has to live as long.
    round_plan(std::vector<misfortune> all, std::optional<std::size_t> rounds, random_source& random);

    /// How many rounds show every harm.
    [[nodiscard]] std::size_t complete_after() const { return complete_after_; }
    /// One misfortune of the servers, one of the clients, or both: by their places in `all`.
    [[nodiscard]] std::vector<std::size_t> next();

private:
    [[nodiscard]] std::size_t draw(std::size_t least, std::size_t most);
    [[nodiscard]] std::vector<std::size_t> those_of(victim whom, std::optional<harm> how) const;

    std::vector<misfortune> all_;
    random_source& random_;
    std::size_t round_ = 0, complete_after_ = 0;
    std::map<std::pair<victim, std::size_t>, harm> due_; ///< in that round
};

} // namespace zklock::chaos
