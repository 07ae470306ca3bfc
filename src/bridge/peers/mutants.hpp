#pragma once

/// Known bugs that the tests of this folder can put into it, to prove that they find them (see queue/mutants.hpp, which
/// has those of the protocol). Each only negates a condition of the code that ships, or adds one; there, it is the
/// constant false.
#ifdef ZKLOCK_MUTANTS
namespace zklock::bridge::peering {
enum class mutant { none, client_speaks_first, endpoint_changes_reconnect_without_bound };
inline mutant active_mutant = mutant::none;
} // namespace zklock::bridge::peering
#define ZKLOCK_PEERS_MUTANT(name) \
    (::zklock::bridge::peering::active_mutant == ::zklock::bridge::peering::mutant::name)
#else
#define ZKLOCK_PEERS_MUTANT(name) false
#endif
