#pragma once
// The server of a program whose tests use TLS 1.3.
#include "integration/tls_scene.hpp"

namespace zklock::test {

inline const server_starts_with tls_1_3 = secured([](secure_port_options& port) { port.tls_1_3 = true; });

} // namespace zklock::test
