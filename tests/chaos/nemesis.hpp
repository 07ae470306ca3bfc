#pragma once
#include "chaos/scene.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace zklock::chaos {

using random_source = std::mt19937_64;

enum class victim : std::uint8_t { servers, clients };

/// A kind of misfortune. scene::heal() ends it.
struct nemesis {
    std::string_view name;
    victim whom;
    bool lasts; ///< longer than a session
    /// Strikes, at that client if at any, and gives what has to go on while it lasts, if anything does.
    std::function<std::function<void()>(scene&, random_source&, std::size_t client)> strike;
};

[[nodiscard]] const std::vector<nemesis>& all_nemeses();

} // namespace zklock::chaos
