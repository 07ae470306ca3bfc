#pragma once
#include "runtime/unique_fd.hpp"

#include <cstdint>
#include <string>

namespace zklock::bridge {

/// Where the C client is told to connect: a port of this machine that is bound and that nobody listens on. Nobody else
/// can listen on it while it is bound, so nothing that the C client sends there of its own accord can reach anybody.
/// (See `wire::connect()`, which puts a connection in place of that socket.)
class decoy {
public:
    enum class family : std::uint8_t { ipv4, ipv6 };

    explicit decoy(family f) noexcept : family_(f) {}

    /// Binds the port, if that was not done. False, with errno, where there is no descriptor or no such family.
    [[nodiscard]] bool bind();
    /// The port's address, in the form in which the C client takes one. It does not change once the port is bound.
    [[nodiscard]] const std::string& address() const noexcept { return address_; }
    /// The port's address, in the form in which the C client's log has it.
    [[nodiscard]] const std::string& logged() const noexcept { return logged_; }

private:
    const family family_;
    runtime::unique_fd fd_;
    std::string address_, logged_;
};

} // namespace zklock::bridge
