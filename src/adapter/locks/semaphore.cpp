#include "zklock/semaphore.hpp"
#include "adapter/client/operation.hpp"
#include "adapter/locks/acquire_operation.hpp"
#include "adapter/locks/admission.hpp"
#include "adapter/locks/guard_state.hpp"
#include "adapter/locks/lock_state.hpp"
#include "recipes/semaphore/semaphore_layout.hpp"
#include "recipes/semaphore/semaphores.hpp"
#include "zklock/detail/access.hpp"

#include <functional>
#include <string>

namespace zklock {
namespace detail {
namespace {

using semaphore_settings = lock_settings<semaphore_options, semaphore_admission>;

/// A number of permits of the semaphore.
class semaphore_target final : public lock_target {
public:
    semaphore_target(std::shared_ptr<const semaphore_settings> settings, std::size_t count)
        : settings_(std::move(settings)), count_(count)
    {
    }

    [[nodiscard]] const std::string& path() const noexcept override { return settings_->path; }
    [[nodiscard]] std::string_view metrics_name() const noexcept override { return settings_->options.metrics_name; }
    [[nodiscard]] std::shared_ptr<recipes::acquisition> acquire(client_core& core,
                                                                recipes::acquire_call call) const override
    {
        const semaphore_options& options = settings_->options;
        return settings_->admission.acquire(
            core, core.agreed_of_semaphores,
            recipes::permits_request{std::move(call), {settings_->path, options, count_}},
            [&] { return recipes::semaphore_path_options(options); },
            [&core](recipes::permits_request r) { return core.semaphores.acquire(std::move(r)); });
    }
    [[nodiscard]] last_timeout& timeouts() const noexcept override { return settings_->timeouts; }
    [[nodiscard]] live_holds* live() const noexcept override { return &settings_->live; }
    [[nodiscard]] lock_share takes() const noexcept override { return {.permits = count_}; }
    [[nodiscard]] listing contenders() const override { return {layout().line, recipes::list_kind::queue}; }
    [[nodiscard]] listing holders() const override { return {layout().permits, recipes::list_kind::permits}; }
    [[nodiscard]] const std::shared_ptr<const semaphore_settings>& settings() const noexcept { return settings_; }

private:
    [[nodiscard]] recipes::semaphore_layout layout() const { return {settings_->path, settings_->options.names}; }

    std::shared_ptr<const semaphore_settings> settings_;
    std::size_t count_;
};

const semaphore_target& target_of(const lock_state& lock)
{
    return static_cast<const semaphore_target&>(*lock.target());
}

/// What a handle of permits has: null where that is nothing, or what a guard of another kind had that was assigned to
/// it.
[[nodiscard]] recipes::semaphore_acquisition* permits_in(const std::shared_ptr<guard_state>& held) noexcept
{
    if (!is_full(held))
        return nullptr;
    return dynamic_cast<recipes::semaphore_acquisition*>(held->acquisition().get());
}

/// The same, of one that has some.
recipes::semaphore_acquisition& held_by(const guard_state& held)
{
    return static_cast<recipes::semaphore_acquisition&>(*held.acquisition());
}

/// An operation that takes some of the permits out.
template <class... Values> class part_operation : public operation<Values...> {
public:
    part_operation(std::shared_ptr<guard_state> held, std::size_t count,
                   asio::any_completion_handler<void(error_code, Values...)> handler)
        : operation<Values...>(held->client(), std::move(handler)), held_(std::move(held)), count_(count)
    {
    }

protected:
    using part = recipes::semaphore_acquisition::part;

    /// Null, and the operation has ended, if they cannot be had. Else the path keeps them until their nodes are gone:
    /// the caller sees to that, and then calls taken().
    [[nodiscard]] part take(guard_state& from, const std::function<void(const part&)>& both_hold = {})
    {
        if (!this->client()->open_core()) {
            this->end_as_closed();
            return nullptr;
        }
        if (from.is_released() || count_ == 0 || count_ > held_by(from).count()) {
            const errc why = from.is_released() ? errc::not_owner : errc::invalid_option;
            if (why == errc::invalid_option)
                this->client()->open_core()->session.log(log_level::error, from.grant().node, " is held by ",
                                                         static_cast<std::int64_t>(held_by(from).count()),
                                                         " permits, and it is refused to give back, or split off, ",
                                                         static_cast<std::int64_t>(count_));
            this->complete(make_error_code(why), Values()...);
            return nullptr;
        }
        auto taken = held_by(from).split(count_, both_hold);
        if (!taken)
            this->complete(make_error_code(errc::lost), Values()...);
        return taken;
    }
    /// Last of all: tells those who wait for the end of what is empty now.
    static void taken(guard_state& from)
    {
        if (held_by(from).count() == 0)
            from.emptied();
    }
    [[nodiscard]] std::shared_ptr<guard_state> held() { return std::exchange(held_, nullptr); }

private:
    // Before it began: what was held is lost. After that, the session's end is a release.
    void end_as_closed() override
    {
        held_.reset();
        this->complete(make_error_code(errc::lost), Values()...);
    }

    std::shared_ptr<guard_state> held_;
    std::size_t count_;
};

class partial_release final : public part_operation<> {
    using part_operation::part_operation;

    void begin() override
    {
        const auto from = held();
        // Cancelled or not: that only concerns the waiting.
        client()->pending().add(shared_from_this());
        const part given_back = take(*from);
        if (!given_back)
            return;
        from->gave_back(given_back->count());
        given_back->release([this, self = shared_from_this()](error_code ec) { complete(ec); });
        if (cancelled())
            complete(asio::error::operation_aborted);
        taken(*from);
    }
};

class split_operation final : public part_operation<permits> {
    using part_operation::part_operation;

    void begin() override
    {
        const auto from = held();
        if (cancelled()) {
            complete(asio::error::operation_aborted, permits());
            return;
        }
        client()->pending().add(shared_from_this()); // a cancellation finds it until the handler is called
        auto own = std::make_shared<guard_state>(client());
        // A caller that asks how many are held finds as many as before.
        const auto both_hold = [&](const part& taken) {
            own->granted(taken, {});
            from->split_off(*own, taken->count());
        };
        const part apart = take(*from, both_hold);
        if (!apart)
            return;
        own->set_grant(apart->given());
        complete({}, access::make<permits>(std::move(own)));
        taken(*from);
    }
};

} // namespace

std::shared_ptr<lock_state> permits_of(const std::shared_ptr<lock_state>& lock, std::size_t count)
{
    return std::make_shared<lock_state>(*lock, std::make_shared<semaphore_target>(target_of(*lock).settings(), count));
}

template void start_acquire<permits>(std::shared_ptr<lock_state>, acquire_mode, std::optional<lease_clock::duration>,
                                     permits_handler);

std::size_t permit_count(const std::shared_ptr<guard_state>& held) noexcept
{
    const auto* const permits = permits_in(held);
    return permits ? permits->count() : 0;
}

void start_partial_release(std::shared_ptr<client_state> owner, std::weak_ptr<guard_state> guard, std::size_t count,
                           void_handler handler)
{
    auto held = guard.lock();
    if (!owner || !permits_in(held))
        return post_error(std::move(handler), errc::not_owner);
    partial_release::launch(std::make_shared<partial_release>(std::move(held), count, std::move(handler)));
}

void start_split(std::shared_ptr<client_state> owner, std::weak_ptr<guard_state> guard, std::size_t count,
                 permits_handler handler)
{
    auto held = guard.lock();
    if (!owner || !permits_in(held))
        return post_error(std::move(handler), errc::not_owner, permits());
    split_operation::launch(std::make_shared<split_operation>(std::move(held), count, std::move(handler)));
}

} // namespace detail

static semaphore_options with_permits(unsigned permits)
{
    semaphore_options options;
    options.permits = permits;
    return options;
}

semaphore::semaphore(const client& c, std::string path, unsigned permits)
    : semaphore(c, std::move(path), with_permits(permits))
{
}

semaphore::semaphore(const client& c, std::string path, semaphore_options options)
    : acquirable(std::make_shared<detail::lock_state>(
          detail::access::state(c),
          std::make_shared<detail::semaphore_target>(
              std::make_shared<const detail::semaphore_settings>(std::move(path), std::move(options)), 1)))
{
}

} // namespace zklock
