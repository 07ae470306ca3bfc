#pragma once
#include "adapter/locks/admission.hpp"
#include "adapter/locks/lock_state.hpp"
#include "zklock/lock_options.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace zklock::detail {

/// The contenders of a path, with a mutex's options: what a mutex acquires, what decides an election, and either side
/// of a shared mutex.
class mutex_target : public lock_target {
public:
    mutex_target(std::string path, mutex_options options, queue::contender_kind kind = queue::contender_kind::mutex)
        : path_(std::move(path)), options_(std::move(options)), kind_(kind)
    {
    }

    [[nodiscard]] const std::string& path() const noexcept override { return path_; }
    [[nodiscard]] std::string_view metrics_name() const noexcept override { return options_->metrics_name; }
    [[nodiscard]] std::shared_ptr<recipes::acquisition> acquire(client_core& core,
                                                                recipes::acquire_call call) const override
    {
        return admission_.acquire(
            core, core.agreed, recipes::acquire_request{std::move(call), path_, options_, kind_},
            [this] { return recipes::path_options(options_, kind_); },
            [&core](recipes::acquire_request&& r) { return core.locks.acquire(std::move(r)); });
    }

    [[nodiscard]] listing contenders() const override
    {
        return {path_, recipes::list_kind::queue_named(options_.rules())};
    }
    [[nodiscard]] last_timeout& timeouts() const noexcept override { return timeouts_; }
    [[nodiscard]] live_holds* live() const noexcept override { return &live_; }
    [[nodiscard]] lock_share takes() const noexcept override
    {
        return {.shared = kind_ == queue::contender_kind::reader};
    }

private:
    std::string path_;
    recipes::shared_options options_;
    queue::contender_kind kind_;
    mutable last_timeout timeouts_;
    mutable live_holds live_;
    mutable lock_admission admission_;
};

/// What a reader's or a writer's contender has of them.
[[nodiscard]] mutex_options of_a_contender(const shared_mutex_options&);

} // namespace zklock::detail
