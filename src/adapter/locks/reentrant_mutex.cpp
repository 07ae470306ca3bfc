#include "zklock/reentrant_mutex.hpp"
#include "adapter/client/client_core.hpp"
#include "adapter/locks/guard_state.hpp"
#include "adapter/locks/mutex_target.hpp"

#include <atomic>

namespace zklock {

lock_owner::lock_owner() noexcept
{
    static std::atomic<std::uint64_t> last{0};
    id_ = last.fetch_add(1, std::memory_order_relaxed) + 1;
}

namespace detail {
namespace {

/// A re-entrant lock of some kind, for one owner; without one, for all: that is asked, and never acquired.
class reentrant_target final : public mutex_target {
public:
    reentrant_target(std::shared_ptr<const mutex_settings> settings, queue::contender_kind kind,
                     recipes::owner_id owner = 0)
        : mutex_target(std::move(settings), kind), owner_(owner)
    {
    }

    [[nodiscard]] live_holds* live() const noexcept override { return nullptr; }
    [[nodiscard]] std::size_t count_held(const client_state& client) const noexcept override
    {
        const auto now = lease_clock::now();
        const auto& holds = *client.holds();
        const auto found = owner_ == 0 ? holds.held(path(), now) : holds.held(path(), owner_, now);
        return takes().shared ? found.shared : found.alone;
    }
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

/// The holds of an owner on a lock's path, even if it is lost.
recipes::hold_count holds_of(const lock_state& lock, recipes::owner_id owner) noexcept
{
    return lock.client()->holds()->of(lock.target()->path(), owner);
}

} // namespace

std::shared_ptr<lock_state> owned_by(const std::shared_ptr<lock_state>& lock, std::uint64_t owner)
{
    const auto& target = static_cast<const reentrant_target&>(*lock->target());
    return std::make_shared<lock_state>(*lock, target.owned_by(owner));
}

void start_owned_release(std::shared_ptr<lock_state> lock, std::weak_ptr<guard_state> guard, std::uint64_t owner,
                         void_handler handler)
{
    const auto held = guard.lock();
    if (is_full_of(held, *lock) && held->grant().owner == owner)
        start_release(held->client(), std::move(guard), std::move(handler));
    else
        start_ready(std::move(lock), make_error_code(errc::not_owner), std::move(handler));
}

} // namespace detail

reentrant_mutex::reentrant_mutex(const client& c, std::string path, mutex_options options)
    : queued_lock(detail::make_lock<detail::reentrant_target>(c, std::move(path), std::move(options)))
{
}

std::size_t reentrant_mutex::hold_count(lock_owner owner) const noexcept
{
    return detail::holds_of(*state(), owner.id()).alone;
}

owned_shared_mutex::owned_shared_mutex(const client& c, std::string path, shared_mutex_options options)
    : queued_lock(detail::make_lock<detail::reentrant_target>(c, std::move(path), detail::of_a_contender(options),
                                                              queue::contender_kind::writer)),
      readers_(detail::readers_beside<detail::reentrant_target>(*state()))
{
}

std::size_t owned_shared_mutex::hold_count(lock_owner owner) const noexcept
{
    return detail::holds_of(*state(), owner.id()).alone;
}

std::size_t owned_shared_mutex::hold_count_shared(lock_owner owner) const noexcept
{
    return detail::holds_of(*state(), owner.id()).shared;
}

} // namespace zklock
