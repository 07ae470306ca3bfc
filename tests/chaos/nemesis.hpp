#pragma once
#include "chaos/scene.hpp"

namespace zklock::chaos {

/// What brings a misfortune about. scene::heal() ends it.
struct nemesis {
    misfortune what;
    /// Strikes, at that client if at any, and gives what has to go on while it lasts, if anything does.
    std::function<std::function<void()>(scene&, random_source&, std::size_t client)> strike;
};

[[nodiscard]] const std::vector<nemesis>& all_nemeses();

/// Whether it has hit anybody, as one looks before heal(): a process is gone, or stands still; something was kept from
/// passing.
[[nodiscard]] bool has_struck(const misfortune&, scene&, std::size_t client);

} // namespace zklock::chaos
