#pragma once
#include "adapter/locks/admission.hpp"
#include "adapter/locks/lock_state.hpp"
#include "zklock/detail/access.hpp"
#include "zklock/lock_options.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace zklock::detail {

/// What all share that acquire one lock with a mutex's options.
using mutex_settings = lock_settings<recipes::shared_options, lock_admission>;

/// The contenders of a path, with a mutex's options: what a mutex acquires, what decides an election, and either side
/// of a shared mutex.
class mutex_target : public lock_target {
public:
    explicit mutex_target(std::shared_ptr<const mutex_settings> settings,
                          queue::contender_kind kind = queue::contender_kind::mutex)
        : settings_(std::move(settings)), kind_(kind)
    {
    }

    [[nodiscard]] const std::string& path() const noexcept final { return settings_->path; }
    [[nodiscard]] std::string_view metrics_name() const noexcept final { return settings_->options->metrics_name; }
    [[nodiscard]] std::shared_ptr<recipes::acquisition> acquire(client_core& core,
                                                                recipes::acquire_call call) const final
    {
        return settings_->admission.acquire(
            core, core.agreed, recipes::acquire_request{std::move(call), {settings_->path, settings_->options, kind_}},
            [this] { return recipes::path_options(settings_->options, kind_); },
            [&](recipes::acquire_request&& r) { return start(core, std::move(r)); });
    }

    [[nodiscard]] listing contenders() const final
    {
        return {settings_->path, recipes::list_kind::queue_named(settings_->options->rules)};
    }
    [[nodiscard]] last_timeout& timeouts() const noexcept final { return settings_->timeouts; }
    [[nodiscard]] live_holds* live() const noexcept override { return &settings_->live; }
    [[nodiscard]] lock_share takes() const noexcept final { return {.shared = kind_ == queue::contender_kind::reader}; }
    [[nodiscard]] const std::shared_ptr<const mutex_settings>& settings() const noexcept { return settings_; }

protected:
    [[nodiscard]] queue::contender_kind kind() const noexcept { return kind_; }

private:
    [[nodiscard]] virtual std::shared_ptr<recipes::acquisition> start(client_core& core,
                                                                      recipes::acquire_request&& r) const
    {
        return core.locks.acquire(std::move(r));
    }

    std::shared_ptr<const mutex_settings> settings_;
    queue::contender_kind kind_;
};

/// A lock of a client, which is acquired by way of such a target.
template <class Target = mutex_target>
[[nodiscard]] std::shared_ptr<lock_state> make_lock(const client& c, std::string path, mutex_options options,
                                                    queue::contender_kind kind = queue::contender_kind::mutex)
{
    auto settings = std::make_shared<const mutex_settings>(std::move(path), std::move(options));
    return std::make_shared<lock_state>(access::state(c), std::make_shared<Target>(std::move(settings), kind));
}

/// The readers' side of the lock of those writers.
template <class Target = mutex_target>
[[nodiscard]] std::shared_ptr<lock_state> readers_beside(const lock_state& writers)
{
    const auto& target = static_cast<const Target&>(*writers.target());
    return std::make_shared<lock_state>(writers,
                                        std::make_shared<Target>(target.settings(), queue::contender_kind::reader));
}

/// What a reader's or a writer's contender has of them.
[[nodiscard]] mutex_options of_a_contender(const shared_mutex_options&);

} // namespace zklock::detail
