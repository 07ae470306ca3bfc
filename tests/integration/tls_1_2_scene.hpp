#pragma once
// The server of a program whose tests use TLS as ZooKeeper has it by default, 1.2.
#include "integration/tls_scene.hpp"

namespace zklock::test {

inline const server_starts_with tls_1_2 = secured();

} // namespace zklock::test
