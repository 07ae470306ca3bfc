#pragma once
#include <array>
#include <cstdint>
#include <string_view>

/// Known bugs, of which one at a time can be switched on, to prove that the tests find it. mutate.py puts them into
/// copies of the sources; the library has none of them.
namespace zklock::mutants {

enum class id : std::uint8_t {
    none,
#define X(name) name,
#include "mutant_names.inc"
#undef X
};

struct named {
    std::string_view name;
    id which;
};
inline constexpr std::array all{
#define X(name) named{#name, id::name},
#include "mutant_names.inc"
#undef X
};

inline id active = id::none;

[[nodiscard]] inline bool on(id which) noexcept
{
    return active == which;
}

/// False if there is no mutant of that name.
[[nodiscard]] inline bool activate(std::string_view name) noexcept
{
    for (const named& each : all) {
        if (each.name != name)
            continue;
        active = each.which;
        return true;
    }
    return false;
}

} // namespace zklock::mutants
