#include "zklock/multi_lock.hpp"
#include "adapter/locks/acquire_operation.hpp"
#include "adapter/locks/guard_state.hpp"
#include "adapter/locks/lock_state.hpp"
#include "recipes/composed/multi_acquisition.hpp"
#include "zklock/detail/access.hpp"

#include <algorithm>

namespace zklock {
namespace detail {
namespace {

class multi_target final : public lock_target {
public:
    explicit multi_target(std::vector<std::shared_ptr<const lock_target>> members) : members_(std::move(members)) {}

    [[nodiscard]] const std::string& path() const noexcept override
    {
        static const std::string none;
        return none;
    }
    /// That of its members, if they have all the same.
    [[nodiscard]] std::string_view metrics_name() const noexcept override
    {
        const auto same = [&](const auto& m) { return m->metrics_name() == members_.front()->metrics_name(); };
        return !members_.empty() && std::ranges::all_of(members_, same) ? members_.front()->metrics_name()
                                                                        : std::string_view();
    }
    [[nodiscard]] std::shared_ptr<recipes::acquisition> acquire(client_core& core,
                                                                recipes::acquire_call call) const override
    {
        std::vector<recipes::multi_acquisition::member> members;
        for (const auto& target : members_)
            members.push_back({target->path(), [&core, target](recipes::acquire_call inner) {
                                   return target->acquire(core, std::move(inner));
                               }});
        return recipes::multi_acquisition::start(core.session, std::move(members), std::move(call));
    }
    [[nodiscard]] last_timeout& timeouts() const noexcept override { return timeouts_; }
    [[nodiscard]] live_holds* live() const noexcept override { return &live_; }
    [[nodiscard]] std::span<const std::shared_ptr<const lock_target>> members() const noexcept override
    {
        return members_;
    }

private:
    mutable last_timeout timeouts_;
    mutable live_holds live_;
    std::vector<std::shared_ptr<const lock_target>> members_; ///< none if they do not go together
};

std::shared_ptr<lock_state> combine(const std::vector<lockable>& locks)
{
    if (locks.empty())
        return nullptr;
    const std::shared_ptr<lock_state>& first = access::state(locks.front());
    std::vector<std::shared_ptr<const lock_target>> members;
    const auto same_client = [&](const lockable& l) { return access::state(l)->client() == first->client(); };
    if (std::all_of(locks.begin(), locks.end(), same_client))
        for (const lockable& l : locks)
            members.push_back(access::state(l)->target());
    return std::make_shared<lock_state>(first->handle(), std::make_shared<multi_target>(std::move(members)));
}

} // namespace

template void start_acquire<multi_guard>(std::shared_ptr<lock_state>, acquire_mode,
                                         std::optional<lease_clock::duration>, handler_of<multi_guard>);

const std::vector<held_lock>& locks_of(const std::shared_ptr<guard_state>& held) noexcept
{
    static const std::vector<held_lock> none;
    return is_full(held) && held->grant().parts ? *held->grant().parts : none;
}

} // namespace detail

multi_lock::multi_lock(const std::vector<lockable>& locks) : acquirable(detail::combine(locks)) {}

} // namespace zklock
