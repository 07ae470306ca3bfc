#pragma once
#include <cstdint>

#ifdef ZKLOCK_MUTANTS
#include <array>
#include <string_view>
#endif

/// Known bugs that the simulator can put into the protocol, to prove that its checkers find them. A site reads
/// `if (ZKLOCK_MUTANT(name)) …`; in the library that ships it is the constant false.

// clang-format off
#define ZKLOCK_MUTANT_LIST(X) \
    X(none)
// clang-format on

namespace zklock::mutants {

enum class id : std::uint8_t {
#define ZKLOCK_MUTANT_NAME(name) name,
    ZKLOCK_MUTANT_LIST(ZKLOCK_MUTANT_NAME)
#undef ZKLOCK_MUTANT_NAME
};

#ifdef ZKLOCK_MUTANTS

inline id active = id::none;

struct named {
    std::string_view name;
    id which;
};
inline constexpr std::array all{
#define ZKLOCK_MUTANT_NAME(name) named{#name, id::name},
    ZKLOCK_MUTANT_LIST(ZKLOCK_MUTANT_NAME)
#undef ZKLOCK_MUTANT_NAME
};

/// False if there is no mutant of that name.
inline bool activate(std::string_view name)
{
    for (const auto& m : all) {
        if (m.name != name) continue;
        active = m.which;
        return true;
    }
    return false;
}

#define ZKLOCK_MUTANT(name) (::zklock::mutants::active == ::zklock::mutants::id::name)
#else
#define ZKLOCK_MUTANT(name) (static_cast<void>(::zklock::mutants::id::name), false)
#endif

} // namespace zklock::mutants
