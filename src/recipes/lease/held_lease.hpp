#pragma once
#include "recipes/lease/lease.hpp"
#include "zklock/events.hpp"

#include <memory>
#include <optional>

namespace zklock::recipes {

/// The lease as a holder keeps it. It is set before the caller hears of the grant, and not changed after. From then on
/// its functions may be called from any thread.
struct held_lease {
    std::shared_ptr<const lease_span> span;
    lease::duration notice{};
    lease::time_point since{}; ///< the grant

    [[nodiscard]] bool lasts(lease::time_point now) const noexcept { return now < span->until() - notice; }
    /// How the holder loses what it holds, if nothing else has happened.
    [[nodiscard]] std::optional<lock_loss> loss(lease::time_point now) const noexcept
    {
        if (lasts(now))
            return std::nullopt;
        return lock_loss{loss_reason::lease_ended, now - since, now - span->heard()};
    }
};

} // namespace zklock::recipes
