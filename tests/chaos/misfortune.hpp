#pragma once
#include <cstdint>
#include <random>
#include <string_view>

namespace zklock::chaos {

using random_source = std::mt19937_64;

enum class victim : std::uint8_t { servers, clients };
enum class harm : std::uint8_t {
    killed,     ///< SIGKILL
    stopped,    ///< SIGSTOP
    connections ///< they are cut, kept silent, slowed down
};

/// What may go wrong.
struct misfortune {
    std::string_view name;
    victim whom;
    harm how;
    bool lasts;          ///< longer than a session
    bool certain = true; ///< a kill or a stop: it depends on nothing
};

} // namespace zklock::chaos
