#pragma once
// What the tests of the mutex alone have in common: one server, and clients that go straight to it.
#include "integration/lock_scene.hpp"
#include "support/one_server.hpp"

namespace zklock::test {

inline client_options options()
{
    return fault_options(server().address(), milliseconds{30'000});
}

} // namespace zklock::test
