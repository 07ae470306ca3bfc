#pragma once
#include "adapter/client/client_core.hpp"
#include "adapter/locks/admission.hpp"
#include "adapter/locks/lock_state.hpp"
#include "zklock/lock_options.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace zklock::detail {

struct reentrant_settings {
    reentrant_settings(std::string p, mutex_options o) : path(std::move(p)), options(std::move(o)) {}

    std::string path;
    recipes::shared_options options;
    mutable last_timeout timeouts;
    mutable lock_admission admission;
};

/// A re-entrant lock of some kind, for one owner; without one, for all: that is asked, and never acquired.
class reentrant_target final : public lock_target {
public:
    reentrant_target(std::shared_ptr<const reentrant_settings> settings, queue::contender_kind kind,
                     recipes::owner_id owner = 0)
        : settings_(std::move(settings)), kind_(kind), owner_(owner)
    {
    }

    [[nodiscard]] const std::string& path() const noexcept override { return settings_->path; }
    [[nodiscard]] std::string_view metrics_name() const noexcept override { return settings_->options->metrics_name; }
    [[nodiscard]] std::shared_ptr<recipes::acquisition> acquire(client_core& core,
                                                                recipes::acquire_call call) const override
    {
        return settings_->admission.acquire(
            core, core.agreed, recipes::acquire_request{std::move(call), settings_->path, settings_->options, kind_},
            [this] { return recipes::path_options(settings_->options, kind_); },
            [&](recipes::acquire_request r) {
                recipes::acquire_call& inner = r;
                return core.reentrant.acquire(owner_, std::move(r.path), std::move(r.options), std::move(inner), kind_);
            });
    }
    [[nodiscard]] listing contenders() const override
    {
        return {settings_->path, recipes::list_kind::queue_named(settings_->options.rules())};
    }
    [[nodiscard]] last_timeout& timeouts() const noexcept override { return settings_->timeouts; }
    [[nodiscard]] std::size_t count_held(const client_state&) const noexcept override;
    [[nodiscard]] std::shared_ptr<const lock_target> owned_by(recipes::owner_id owner) const
    {
        return std::make_shared<reentrant_target>(settings_, kind_, owner);
    }
    [[nodiscard]] std::shared_ptr<const lock_target> of_kind(queue::contender_kind kind) const
    {
        return std::make_shared<reentrant_target>(settings_, kind);
    }

private:
    std::shared_ptr<const reentrant_settings> settings_;
    queue::contender_kind kind_;
    recipes::owner_id owner_;
};

/// The holds of an owner on a lock's path, even if it is lost.
[[nodiscard]] recipes::hold_count holds_of(const lock_state&, recipes::owner_id) noexcept;

} // namespace zklock::detail
