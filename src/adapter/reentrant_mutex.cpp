#include "zklock/reentrant_mutex.hpp"
#include "adapter/guard_state.hpp"
#include "adapter/lock_state.hpp"
#include "zklock/detail/access.hpp"

#include <atomic>

namespace zklock {

lock_owner::lock_owner() noexcept
{
    static std::atomic<std::uint64_t> last{0};
    id_ = last.fetch_add(1, std::memory_order_relaxed) + 1;
}

namespace detail {
namespace {

struct reentrant_settings {
    reentrant_settings(std::string p, mutex_options o) : path(std::move(p)), options(std::move(o)) {}

    std::string path;
    recipes::shared_options options;
    mutable last_timeout timeouts;
};

/// The lock, for one owner. There is no owner in what is not meant to be acquired.
class reentrant_target final : public lock_target {
public:
    reentrant_target(std::shared_ptr<const reentrant_settings> settings, recipes::owner_id owner)
        : settings_(std::move(settings)), owner_(owner)
    {
    }

    [[nodiscard]] const std::string& path() const noexcept override { return settings_->path; }
    [[nodiscard]] std::string_view metrics_name() const noexcept override { return settings_->options->metrics_name; }
    [[nodiscard]] std::shared_ptr<recipes::acquisition> acquire(client_core& core,
                                                                recipes::waiter waiter) const override
    {
        return core.reentrant.acquire(owner_, settings_->path, settings_->options, std::move(waiter));
    }
    [[nodiscard]] place contenders() const override
    {
        return {settings_->path, recipes::list_kind::queue_named(settings_->options.rules())};
    }
    [[nodiscard]] last_timeout& timeouts() const noexcept override { return settings_->timeouts; }
    [[nodiscard]] std::shared_ptr<const lock_target> owned_by(recipes::owner_id owner) const
    {
        return std::make_shared<reentrant_target>(settings_, owner);
    }

private:
    std::shared_ptr<const reentrant_settings> settings_;
    recipes::owner_id owner_;
};

} // namespace

std::shared_ptr<lock_state> owned_by(const std::shared_ptr<lock_state>& lock, std::uint64_t owner)
{
    const auto& target = static_cast<const reentrant_target&>(*lock->target());
    return std::make_shared<lock_state>(*lock, target.owned_by(owner));
}

std::shared_ptr<guard_state> take_if_owned(const std::shared_ptr<lock_state>& lock, std::uint64_t owner, guard& held)
{
    const auto& state = access::state(held);
    if (!state || state->client() != lock->client() || state->grant().owner != owner)
        return nullptr;
    return state->is_on(lock->target()->path()) ? std::move(access::state(held)) : nullptr;
}

void start_owned_release(std::shared_ptr<lock_state> lock, std::shared_ptr<guard_state> held, void_handler handler)
{
    if (held)
        start_release(std::move(held), std::move(handler));
    else
        start_ready(std::move(lock), make_error_code(errc::not_owner), std::move(handler));
}

} // namespace detail

reentrant_mutex::reentrant_mutex(const client& c, std::string path, mutex_options options)
    : state_(std::make_shared<detail::lock_state>(
          detail::access::state(c),
          std::make_shared<detail::reentrant_target>(
              std::make_shared<const detail::reentrant_settings>(std::move(path), std::move(options)), 0)))
{
}

std::size_t reentrant_mutex::hold_count(lock_owner owner) const
{
    return state_->client()->holds()->of(path(), owner.id());
}

bool reentrant_mutex::is_held(lock_owner owner) const
{
    const auto& client = state_->client();
    return client->alive() && client->holds()->held(path(), owner.id(), lease_clock::now()) != 0;
}

bool reentrant_mutex::is_held() const
{
    const auto& client = state_->client();
    return client->alive() && client->holds()->held(path(), lease_clock::now()) != 0;
}

} // namespace zklock
