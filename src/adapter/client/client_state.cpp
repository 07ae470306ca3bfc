#include "adapter/client/client_state.hpp"

#include "adapter/client/client_log.hpp"
#include "adapter/client/options_check.hpp"
#include "store/tell_listener.hpp"
#include "zklock/detail/event_sink.hpp"
#include "zklock/errc.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/system_executor.hpp>

#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace zklock::detail {

namespace {

/// Who we are; where the options do not say, `host:pid`.
std::string identifier_of(const client_options& options)
{
    if (!options.identifier.empty())
        return options.identifier;
    std::array<char, 256> name{};
    const bool known = ::gethostname(name.data(), name.size() - 1) == 0;
    return std::string(known ? name.data() : "localhost") + ":" + std::to_string(::getpid());
}

/// Of a client that has no session yet.
store::log_function log_without_session(store::log_function to, const client_options& options)
{
    return client_log(std::move(to), identifier_of(options), [] { return std::int64_t{0}; });
}

} // namespace

client_state::client_state(const asio::any_io_executor& executor, client_options options)
    : fault_(check(options)), invalid_(fault_ ? make_error_code(errc::invalid_option) : error_code()),
      executors_(std::make_shared<client_executors>(executor)), strand_(runtime::make_strand(executor)),
      state_(invalid_ ? connection_state::failed : connection_state::connecting)
{
    options_.emplace(std::move(options));
}

std::shared_ptr<client_state> client_state::make(const asio::any_io_executor& executor, client_options options)
{
    const std::shared_ptr<client_state> state(new client_state(executor, std::move(options)));
    const asio::steady_timer reactor_first(executor); // so that it is told of a fork before the service is
    state->registry_ = context_service<client_state>::of(executor);
    state->registry_->add(*state);
    if (!state->invalid_)
        state->tell_made();
    state->turns_->add(runtime::turns::kind::client, std::shared_ptr<runtime::turns::finisher>(state, state.get()));
    state->turns_->belong_to(std::shared_ptr<runtime::turns::owner>(state, state.get()));
    static_cast<void>(state->post_task(state->own(state->begin_)));
    return state;
}

/// Where nobody runs the executor, this is the only line: it says what is missing.
void client_state::tell_made() const
{
    const auto to = log_or_environment(options_->log);
    if (!store::logger{to}.on(log_level::info))
        return;
    const auto log = log_without_session(to, *options_);
    store::logger{log}(log_level::info, "made for ", options_->servers,
                       ": it connects as soon as a thread runs its executor");
}

void client_state::tell_fault()
{
    tell_unopened("the client cannot be used: ", to_string(*fault_));
    fault_.reset();
}

/// Once, of a client that has not come as far as a session: what is asked of it ends with why_unusable() from now on.
void client_state::tell_unopened(std::string_view what, std::string_view why) noexcept
{
    const auto options = std::exchange(options_, std::nullopt);
    store::log_function log;
    try {
        log = log_without_session(log_or_environment(options->log), *options);
    } catch (...) { // NOLINT: as where memory fails for a line
    }
    const store::logger to(log);
    to(log_level::error, what, why);
    if (options->listener)
        store::tell_listener(*options->listener,
                             connection_event{connection_state::failed, 0, lease_clock::now(), 0, why_unusable()}, to);
}

client_state::~client_state()
{
    if (registry_)
        registry_->remove(*this);
}

asio::any_io_executor client_state::executor() const
{
    return executors()->executor;
}

std::shared_ptr<const client_executors> client_state::executors() const
{
    static const auto none = std::make_shared<const client_executors>(asio::any_io_executor(asio::system_executor()));
    const std::lock_guard lock(mutex_);
    return executors_ ? executors_ : none;
}

error_code client_state::why_unusable() const noexcept
{
    if (invalid_)
        return invalid_;
    return failure_ ? failure_ : make_error_code(errc::closed);
}

bool client_state::is_insecure() const noexcept
{
    const client_core* const core = open_core();
    return core && core->store->is_insecure();
}

void client_state::open()
{
    client_options own = *options_;
    own.identifier = identifier_of(own);
    const auto session = [this] { return core_ ? core_->session.id() : std::int64_t{0}; };
    own.log = client_log(log_or_environment(std::move(own.log)), own.identifier, session);
    core_ = std::make_unique<client_core>(*strand_, turns_, own, holds_, connection_counters_);
    forks_.store(runtime::fork_count(), std::memory_order_relaxed);
    options_.reset();
    core_->session.on_state([this](connection_state now) {
        session_id_.store(core_->session.id(), std::memory_order_release);
        if (!closing_)
            state_.store(now, std::memory_order_release);
        core_->waits.state_changed();
    });
}

void client_state::turn_ends()
{
    turn_time_.reset();
    waits_for_nothing_.store(core_ && core_->store->waits_for_nothing(), std::memory_order_release);
}

/// Guards are lost at once, and nothing is sent any more. The connection is cut, and not closed in good order: with the
/// session, locks would be another's before a body that has just looked at its guard has stopped. So nobody gets them
/// sooner than after a lost connection. No memory is needed but what is kept.
void client_state::turn_failed(const error_code& why, std::string_view words) noexcept
{
    const auto self = shared_from_this(); // and no longer until it is closed
    until_closed_.reset();
    alive_.store(false, std::memory_order_release);
    failure_ = why;
    if (!closed_)
        state_.store(connection_state::failed, std::memory_order_release);
    session_id_.store(0, std::memory_order_release);
    closing_ = true;
    if (core_) {
        core_->peers.stop(false);
        core_->session.fail(why, words);
        core_->store->cut();
        core_->scheduler.shutdown();
    } else if (options_) {
        tell_unopened("the client has failed before it could connect: ", words);
    }
    end_pending();
    core_.reset();
    end_batch();
}

void client_state::end_pending() noexcept
{
    for (auto* list : {&pending_, &closers_})
        while (!list->empty()) {
            const auto op = pending_operation::take_front(*list);
            try {
                op->end_as_closed();
            } catch (...) { // NOLINT: the executor does not take the handler, which is destroyed
            }
        }
}

lease_clock::time_point client_state::turn_time()
{
    if (!turns_->open())
        return lease_clock::now();
    if (!turn_time_)
        turn_time_ = lease_clock::now();
    return *turn_time_;
}

metrics client_state::read_metrics() const
{
    metrics m;
    m.state = state();
    const auto& c = connection_counters_;
    m.reconnects = c.reconnects.read();
    m.disconnects = c.disconnects.read();
    m.expiries = c.expiries.read();
    m.authentication_failures = c.authentication_failures.read();
    m.requests = c.requests.read();
    m.unseen = unseen_guards_.counted();
    m.heartbeats = c.heartbeats.read();
    m.heartbeat_delays = c.heartbeat_delays.read();
    m.handoff = c.handoff.read();
    m.by_name = lock_counters_.read();
    const bool ended = !alive(); // what was left over then is counted nowhere
    if (ended) {
        m.handoff.listens = false;
        m.handoff.connected_to = m.handoff.connected_from = 0;
    }
    for (lock_metrics& l : m.by_name) {
        if (ended)
            l.waiting = l.held = 0;
        m.all += l;
    }
    return m;
}

void client_state::close()
{
    if (!core_ || std::exchange(closing_, true))
        return;
    state_.store(connection_state::closed, std::memory_order_release);
    until_closed_ = shared_from_this();
    core_->waits.end_all(make_error_code(errc::closed));
    core_->session.close([this] { finish_close(); });
}

void client_state::finish_close()
{
    const auto self = std::exchange(until_closed_, nullptr);
    closed_ = true;
    alive_.store(false, std::memory_order_release);
    session_id_.store(0, std::memory_order_release);
    core_->session.log(log_level::info, "closed");
    take_batch(); // what was called before this is told before the close
    run_batch();
    for (auto* list : {&pending_, &closers_})
        while (!list->empty())
            pending_operation::take_front(*list)->end_as_closed();
    static_cast<void>(post_task(own(drop_core_))); // not from inside a function of the session's
}

void client_state::close_in_background() noexcept
{
    static_cast<void>(post_task(own(close_)));
}

void client_state::context_gone()
{
    drop_all(false);
}

void client_state::forked()
{
    if (core_)
        drop_all(true);
}

void client_state::drop_all(bool told_of_fork)
{
    const auto closing = std::exchange(until_closed_, nullptr);
    std::optional<runtime::strand> strand;
    std::shared_ptr<const client_executors> executors;
    task_line tasks;
    {
        const std::lock_guard lock(mutex_);
        tasks.take_all(tasks_);
        strand_.swap(strand);
        std::swap(executors_, executors);
    }
    alive_.store(false, std::memory_order_release);
    state_.store(connection_state::closed, std::memory_order_release);
    session_id_.store(0, std::memory_order_release);
    // What the handlers own may come back here when it is destroyed, and finds no strand.
    for (auto* line : {&batch_, &tasks})
        while (line->take_first()) {
        }
    for (auto* list : {&pending_, &closers_})
        while (!list->empty())
            pending_operation::take_front(*list)->abandon();
    if (core_) {
        core_->peers.stop(told_of_fork); // what the session takes back there would be posted
        if (!told_of_fork && !is_forked())
            core_->session.context_gone();
        core_->store->stop(told_of_fork);
        core_->scheduler.shutdown();
        core_.reset();
    }
}

} // namespace zklock::detail
