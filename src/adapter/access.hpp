#pragma once
#include "zklock/client.hpp"
#include "zklock/guard.hpp"

#include <memory>
#include <utility>

namespace zklock::detail {

/// How the recipes get at the client they are made from.
class client_access {
public:
    [[nodiscard]] static const std::shared_ptr<client_handle>& handle(const client& c) noexcept { return c.handle_; }
};

/// And at what a guard holds.
class guard_access {
public:
    [[nodiscard]] static const std::shared_ptr<guard_state>& state(const guard& g) noexcept { return g.state_; }
    [[nodiscard]] static std::shared_ptr<guard_state> take(guard& g) noexcept { return std::move(g.state_); }
};

} // namespace zklock::detail
