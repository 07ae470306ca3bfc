#pragma once
#include "recipes/locks/holder_look.hpp"
#include "recipes/locks/path_part.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace zklock::recipes {

/// What contenders of a lock_path are told of those before them when their wait ends by time.
class holder_report final : private path_part {
public:
    explicit holder_report(const path_part& part) : path_part(part) {}

    /// The contender's deadline is near. Looks once, for all whose deadline is, at who holds the lock: who waits
    /// watches its predecessor only, and may not know that the first has gone.
    void look_for(const lock_contender&);
    /// Who is before the contender now.
    [[nodiscard]] known_wait describe_wait(const lock_contender&) const;
    void epoch_ended() noexcept { look_.epoch_ended(); }

private:
    [[nodiscard]] std::size_t count_before(const std::string& own, const std::vector<std::string>& listed) const;

    last_holder_look look_;
};

} // namespace zklock::recipes
