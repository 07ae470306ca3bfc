#pragma once
#include <zklock/guard.hpp>
#include <zklock/semaphore.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace zklock::tool {

/// A lock that is held, whichever kind it is: a guard, or one permit.
class hold {
public:
    hold(guard held) : held_(std::move(held)) {}   // NOLINT: it is one
    hold(permits held) : held_(std::move(held)) {} // NOLINT: it is one

    [[nodiscard]] const std::string& node() const
    {
        return std::visit([](const auto& held) -> const std::string& { return held.node(); }, held_);
    }
    [[nodiscard]] std::int64_t token() const
    {
        return std::visit([](const auto& held) { return held.fencing_token(); }, held_);
    }
    [[nodiscard]] lease_clock::time_point held_until() const
    {
        return std::visit([](const auto& held) { return held.held_until(); }, held_);
    }
    [[nodiscard]] std::optional<lock_loss> loss() const
    {
        return std::visit([](const auto& held) { return held.loss(); }, held_);
    }
    template <class Handler> void wait_lost(Handler handler) const
    {
        std::visit([&](const auto& held) { held.wait_lost(std::move(handler)); }, held_);
    }
    template <class Handler> void wait_revoked(Handler handler) const
    {
        std::visit([&](const auto& held) { held.wait_revoked(std::move(handler)); }, held_);
    }
    template <class Handler> void release(Handler handler) &&
    {
        std::visit([&](auto& held) { std::move(held).release(std::move(handler)); }, held_);
    }

private:
    std::variant<guard, permits> held_;
};

} // namespace zklock::tool
