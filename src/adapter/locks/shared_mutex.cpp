#include "zklock/shared_mutex.hpp"
#include "adapter/client/request_operation.hpp"
#include "adapter/locks/guard_state.hpp"
#include "adapter/locks/lock_state.hpp"
#include "adapter/locks/mutex_target.hpp"
#include "zklock/detail/access.hpp"

#include <memory>
#include <string>
#include <utility>

namespace zklock {
namespace detail {
namespace {

using queue::contender_kind;

class downgrade_operation final : public operation<guard> {
public:
    downgrade_operation(const lock_state& lock, std::shared_ptr<guard_state> held, guard_handler handler)
        : operation(lock.client(), std::move(handler)), held_(std::move(held))
    {
    }
    ~downgrade_operation() override { give_back(held_); }

private:
    void begin() override
    {
        if (!enter_open_client())
            return;
        // What the operation has keeps this function.
        if (!held_->downgrade(if_alive<&downgrade_operation::finish>()))
            finish(make_error_code(errc::not_owner));
    }

    /// Gives what is still held back to the caller.
    void finish(error_code ec)
    {
        if (held_) // it was not cancelled meanwhile
            log_denial(*client(), ec, "downgrade the writer ", held_->grant().node);
        const bool gone = ec == errc::lost || ec == errc::closed || ec == errc::authentication_failed;
        auto now = gone || !held_ ? guard() : access::make<guard>(held_->hand_over());
        give_back(held_);
        complete(ec, std::move(now));
    }

    bool withdraw() override
    {
        give_back(held_);
        return true;
    }
    void end_as_closed() override
    {
        give_back(held_);
        complete(client()->why_unusable(), guard());
    }

    std::shared_ptr<guard_state> held_;
};

template <class... Values> class ready_operation final : public operation<Values...> {
public:
    ready_operation(const lock_state& lock, error_code result, typename operation<Values...>::handler_type handler)
        : operation<Values...>(lock.client(), std::move(handler)), result_(result)
    {
    }

private:
    void begin() override { this->complete(result_, Values()...); }
    void end_as_closed() override { begin(); }

    const error_code result_;
};

/// Whether it holds that lock alone, or why it never will.
error_code upgradable(const lock_state& lock, const std::shared_ptr<guard_state>& state) noexcept
{
    if (!is_full_of(state, lock))
        return make_error_code(errc::not_owner);
    switch (state->grant().kind) {
    case contender_kind::reader: return make_error_code(errc::not_upgradable);
    case contender_kind::writer: return state->held() ? error_code() : make_error_code(errc::lost);
    case contender_kind::mutex: break;
    }
    return make_error_code(errc::not_owner);
}

} // namespace

mutex_options of_a_contender(const shared_mutex_options& options)
{
    mutex_options own;
    own.names = options.names;
    own.parents = options.parents;
    own.access = options.access;
    own.identifier = options.identifier;
    own.metrics_name = options.metrics_name;
    own.properties = options.properties;
    own.listener = options.listener;
    own.max_attempts = options.max_attempts;
    return own;
}

void start_downgrade(std::shared_ptr<lock_state> lock, std::weak_ptr<guard_state> guard, guard_handler handler)
{
    const auto held = guard.lock();
    // What an owner holds becomes a reader's by the release of its last hold as a writer.
    if (!is_full_of(held, *lock) || held->grant().kind != contender_kind::writer || held->grant().owner != 0)
        return ready_operation<zklock::guard>::launch(std::make_shared<ready_operation<zklock::guard>>(
            *lock, make_error_code(errc::not_owner), std::move(handler)));
    held->give(std::make_shared<downgrade_operation>(*lock, held, std::move(handler)));
}

void start_upgrade(std::shared_ptr<lock_state> lock, std::weak_ptr<guard_state> guard, void_handler handler)
{
    const error_code result = upgradable(*lock, guard.lock());
    start_ready(std::move(lock), result, std::move(handler));
}

void start_ready(std::shared_ptr<lock_state> lock, error_code result, void_handler handler)
{
    ready_operation<>::launch(std::make_shared<ready_operation<>>(*lock, result, std::move(handler)));
}

} // namespace detail

shared_mutex::shared_mutex(const client& c, std::string path, shared_mutex_options options)
    : acquirable(detail::make_lock(c, std::move(path), detail::of_a_contender(options), queue::contender_kind::writer)),
      readers_(detail::readers_beside(*state()))
{
}

} // namespace zklock
