#pragma once
#include <zklock/lease_clock.hpp>

namespace zklock::tool {

/// How a command is stopped before a lease ends at L: TERM at L - notice(), at the latest, and KILL at L - reserve. So
/// a command has at least `kill_after` between the two, and the kernel has `reserve` to end what was killed, and the
/// keeper to be late.
struct stop_times {
    lease_clock::duration kill_after{};
    lease_clock::duration reserve{};

    [[nodiscard]] lease_clock::duration notice() const { return kill_after + reserve; }
};

} // namespace zklock::tool
