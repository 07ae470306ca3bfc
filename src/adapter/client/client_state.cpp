#include "adapter/client/client_state.hpp"

#include "zklock/errc.hpp"

#include <boost/asio/steady_timer.hpp>

#include <cstdint>

namespace zklock::detail {

client_state::client_state(const asio::any_io_executor& executor, client_options options)
    : client_strand(executor), unopened_(std::move(options))
{
    if (unopened_.fault())
        set(connection_state::failed);
}

std::shared_ptr<client_state> client_state::make(const asio::any_io_executor& executor, client_options options)
{
    const std::shared_ptr<client_state> state(new client_state(executor, std::move(options)));
    const asio::steady_timer reactor_first(executor); // so that it is told of a fork before the service is
    state->registry_ = context_service<client_state>::of(executor);
    state->registry_->add(*state);
    if (!state->unopened_.fault())
        state->unopened_.tell_made();
    state->join_turns();
    static_cast<void>(state->post_task(state->own(state->begin_)));
    return state;
}

client_state::~client_state()
{
    if (registry_)
        registry_->remove(*this);
}

error_code client_state::why_unusable() const noexcept
{
    if (const error_code invalid = unopened_.fault())
        return invalid;
    return failure() ? failure() : make_error_code(errc::closed);
}

bool client_state::is_insecure() const noexcept
{
    const client_core* const core = open_core();
    return core && core->store->is_insecure();
}

void client_state::begin()
{
    if (!failure())
        unopened_.fault() ? unopened_.tell_fault() : open();
}

void client_state::open()
{
    const auto session = [this] { return core_ ? core_->session.id() : std::int64_t{0}; };
    core_ =
        std::make_unique<client_core>(strand(), turns(), unopened_.to_open_with(session), holds_, counted_.connection);
    forks_.store(runtime::fork_count(), std::memory_order_relaxed); // it belongs to this process
    unopened_.opened();
    core_->session.on_state([this](connection_state now) {
        set_session(core_->session.id());
        if (!closing_)
            set(now);
        core_->waits.state_changed();
    });
}

/// Guards are lost at once, and nothing is sent any more. The connection is cut, and not closed in good order: with the
/// session, locks would be another's before a body that has just looked at its guard has stopped. So nobody gets them
/// sooner than after a lost connection.
void client_state::fail(std::string_view words) noexcept
{
    until_closed_.reset();
    ended(closed_ ? connection_state::closed : connection_state::failed);
    closing_ = true;
    if (core_) {
        if (core_->peers)
            core_->peers->stop();
        core_->session.fail(failure(), words);
        core_->store->cut();
        core_->scheduler->stop();
    } else {
        unopened_.tell_failure(words, why_unusable());
    }
    pending_.end_failed();
    core_.reset();
}

void client_state::close()
{
    if (!core_ || std::exchange(closing_, true))
        return;
    set(connection_state::closed);
    until_closed_ = shared_from_this();
    core_->waits.end_all(make_error_code(errc::closed));
    core_->session.close([this] { finish_close(); });
}

void client_state::finish_close()
{
    const auto self = std::exchange(until_closed_, nullptr);
    closed_ = true;
    ended(connection_state::closed);
    core_->session.log(log_level::info, "closed");
    run_posted(); // what was called before this is told before the close
    pending_.end_all();
    static_cast<void>(post_task(own(drop_core_))); // not from inside a function of the session's
}

void client_state::close_in_background() noexcept
{
    static_cast<void>(post_task(own(close_)));
}

void client_state::forked()
{
    if (core_)
        drop_all(true);
}

void client_state::drop_all(bool told_of_fork)
{
    const auto closing = std::exchange(until_closed_, nullptr);
    auto gone = leave_context();
    ended(connection_state::closed);
    // What the handlers own may come back here when it is destroyed, and finds no strand.
    gone.drop_tasks();
    pending_.abandon_all();
    if (core_) {
        if (core_->peers)
            core_->peers->stop(told_of_fork); // what the session takes back there would be posted
        if (!told_of_fork && !is_forked())
            core_->session.context_gone();
        core_->store->stop(told_of_fork);
        core_->scheduler->stop();
        core_.reset();
    }
}

} // namespace zklock::detail
