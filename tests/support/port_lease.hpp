#pragma once
#include "support/unique_fd.hpp"

#include <cstdint>

namespace zklock::test {

/// A TCP port of the loopback interface that was free a moment ago, and that no other test takes while this lives.
///
/// Tests run in parallel and restart their servers on the same port, so a port has to stay reserved while nothing
/// listens on it. The reservation is an abstract Unix socket: it ends with the process, however that ends.
class port_lease {
public:
    port_lease();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

private:
    std::uint16_t port_ = 0;
    unique_fd reservation_;
};

/// Somebody listens on that port, at any address.
[[nodiscard]] bool is_bound(std::uint16_t port);

} // namespace zklock::test
