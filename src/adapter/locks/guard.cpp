// A guard's operations, and what a user asks of it.
#include "zklock/guard.hpp"
#include "adapter/client/operation.hpp"
#include "adapter/locks/guard_state.hpp"
#include "adapter/locks/lock_state.hpp"
#include "zklock/errc.hpp"

#include <boost/asio/system_executor.hpp>

#include <memory>
#include <string>
#include <utility>

namespace zklock {
namespace detail {

namespace {

/// One wait_lost() or wait_revoked().
class guard_wait final : public operation<>, public guard_watcher {
public:
    enum class what : std::uint8_t { loss, revocation };

    guard_wait(what awaited, std::weak_ptr<guard_state> guard, std::shared_ptr<client_state> client,
               void_handler handler)
        : operation(std::move(client), std::move(handler)), awaited_(awaited)
    {
        watch(std::move(guard));
    }

    void guard_lost() override { complete(awaited_ == what::loss ? error_code() : make_error_code(errc::lost)); }
    void guard_released() override { complete(asio::error::operation_aborted); }
    bool guard_revoked() override { return awaited_ == what::revocation && complete({}); }

private:
    void begin() override
    {
        const auto guard = watched();
        if (guard && guard->is_lost()) {
            guard_lost();
        } else if (!guard || guard->is_released()) { // or handed over by a downgrade
            complete(asio::error::operation_aborted);
        } else if (enter_open_client()) {
            place_ = guard->add(std::static_pointer_cast<guard_wait>(shared_from_this()));
            if (awaited_ == what::revocation && guard->is_revoked())
                guard->revoked();
        }
    }

    bool withdraw() override
    {
        if (const auto guard = watched())
            guard->remove(*place_);
        return true;
    }

    // With the client's session, everything that was held is lost.
    void end_as_closed() override
    {
        if (watched())
            guard_lost();
        else
            guard_released();
    }

    const what awaited_;
    std::optional<guard_state::watchers::iterator> place_;
};

void start_wait(guard_wait::what awaited, std::shared_ptr<client_state> owner, std::weak_ptr<guard_state> guard,
                void_handler handler)
{
    if (!owner)
        return post_error(std::move(handler), errc::not_owner);
    guard_wait::launch(std::make_shared<guard_wait>(awaited, std::move(guard), std::move(owner), std::move(handler)));
}

class release_operation final : public operation<> {
public:
    release_operation(std::shared_ptr<guard_state> guard, void_handler handler)
        : operation(guard->client(), std::move(handler)), guard_(std::move(guard))
    {
    }
    ~release_operation() override { give_back(guard_); }

private:
    void begin() override
    {
        if (!client()->open_core()) {
            end_as_closed();
            return;
        }
        const auto guard = std::exchange(guard_, nullptr);
        // Cancelled or not: that only concerns the waiting.
        const auto self = std::static_pointer_cast<release_operation>(shared_from_this());
        client()->pending().add(self);
        auto released = [self, counting = guard->count_release()](error_code ec) mutable {
            counting.ended(ec);
            self->complete(ec);
        };
        if (!guard->release(std::move(released)))
            complete(make_error_code(errc::not_owner)); // nothing was left, of permits say
        else if (cancelled())
            complete(asio::error::operation_aborted);
    }

    // Before it began: what was held is lost. After that, the session's end is a release.
    void end_as_closed() override
    {
        give_back(guard_);
        complete(make_error_code(errc::lost));
    }

    std::shared_ptr<guard_state> guard_; ///< until it begins
};

thread_local const guard_state* delivered_now = nullptr;

} // namespace

delivery::delivery(const guard_state* held) noexcept : before_(std::exchange(delivered_now, held)) {}

delivery::~delivery()
{
    delivered_now = before_;
}

void note_unseen(guard_state& held) noexcept
{
    if (&held == delivered_now)
        held.note_unseen();
}

void note_unwanted(guard_state* held) noexcept
{
    if (held)
        held->note_unwanted();
}

void start_release(std::shared_ptr<client_state> owner, std::weak_ptr<guard_state> guard, void_handler handler)
{
    const auto held = guard.lock();
    if (!owner || !is_full(held))
        return post_error(std::move(handler), errc::not_owner);
    held->give(std::make_shared<release_operation>(held, std::move(handler)));
}

void start_wait_lost(std::shared_ptr<client_state> owner, std::weak_ptr<guard_state> guard, void_handler handler)
{
    start_wait(guard_wait::what::loss, std::move(owner), std::move(guard), std::move(handler));
}

void start_wait_revoked(std::shared_ptr<client_state> owner, std::weak_ptr<guard_state> guard, void_handler handler)
{
    start_wait(guard_wait::what::revocation, std::move(owner), std::move(guard), std::move(handler));
}

asio::any_io_executor executor_of(const std::shared_ptr<client_state>& client)
{
    return client ? client->executor() : asio::any_io_executor(asio::system_executor());
}

asio::any_io_executor executor_of(const std::shared_ptr<guard_state>& guard)
{
    return executor_of(client_of(guard));
}

std::shared_ptr<client_state> client_of(const std::shared_ptr<guard_state>& guard) noexcept
{
    return is_full(guard) ? guard->client() : nullptr;
}

bool is_full_of(const std::shared_ptr<guard_state>& held, const lock_state& lock) noexcept
{
    return is_full(held) && held->client() == lock.client() && held->is_on(lock.target()->path());
}

} // namespace detail

guard::operator bool() const& noexcept
{
    return is_full(state_) && state_->held();
}

const std::string& guard::node() const& noexcept
{
    static const std::string none;
    return is_full(state_) ? state_->grant().node : none;
}

std::int64_t guard::fencing_token() const& noexcept
{
    return is_full(state_) ? state_->grant().fencing_token : 0;
}

std::optional<lock_loss> guard::loss() const& noexcept
{
    return is_full(state_) ? state_->loss() : std::nullopt;
}

lease_clock::time_point guard::held_until() const& noexcept
{
    return is_full(state_) ? state_->held_until() : lease_clock::time_point{};
}

} // namespace zklock
