#pragma once
#include "adapter/client/client_core.hpp"
#include "adapter/locks/mutex_target.hpp"

#include <cstddef>
#include <memory>
#include <utility>

namespace zklock::detail {

/// A re-entrant lock of some kind, for one owner; without one, for all: that is asked, and never acquired.
class reentrant_target final : public mutex_target {
public:
    reentrant_target(std::shared_ptr<const mutex_settings> settings, queue::contender_kind kind,
                     recipes::owner_id owner = 0)
        : mutex_target(std::move(settings), kind), owner_(owner)
    {
    }

    [[nodiscard]] live_holds* live() const noexcept override { return nullptr; }
    [[nodiscard]] std::size_t count_held(const client_state&) const noexcept override;
    [[nodiscard]] std::shared_ptr<const lock_target> owned_by(recipes::owner_id owner) const
    {
        return std::make_shared<reentrant_target>(settings(), kind(), owner);
    }

private:
    [[nodiscard]] std::shared_ptr<recipes::acquisition> start(client_core& core,
                                                              recipes::acquire_request&& r) const override
    {
        recipes::acquire_call& call = r;
        return core.reentrant.acquire(owner_, std::move(r.path), std::move(r.options), std::move(call), r.kind);
    }

    recipes::owner_id owner_;
};

} // namespace zklock::detail
