#pragma once
#include <zklock/events.hpp>

#include <chrono>

namespace zklock::tool {

/// Who survives KILL for that long cannot be killed, as one that waits for a broken disk: somebody has to know.
inline constexpr lease_clock::duration patience_with_kill = std::chrono::seconds(5);

/// How a command is stopped before a lease ends at L: TERM at L - notice(), at the latest, and KILL at L - reserve. So
/// a command has at least `kill_after` between the two, and the kernel has `reserve` to end what was killed, and the
/// keeper to be late.
struct stop_times {
    lease_clock::duration kill_after{};
    lease_clock::duration reserve{};

    [[nodiscard]] lease_clock::duration notice() const { return kill_after + reserve; }
};

} // namespace zklock::tool
