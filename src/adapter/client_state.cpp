#include "adapter/client_state.hpp"

#include "adapter/client_log.hpp"
#include "adapter/options_check.hpp"
#include "store/each_told.hpp"
#include "zklock/detail/event_sink.hpp"
#include "zklock/errc.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/system_executor.hpp>

#include <unistd.h>

#include <array>
#include <cstddef>
#include <iterator>
#include <string>

namespace zklock::detail {

namespace {

constexpr std::size_t most_spare_tasks = 4096; // whose memory is kept
constexpr std::size_t most_spares = 256;

/// Who we are; where the options do not say, `host:pid`.
std::string identifier_of(const client_options& options)
{
    if (!options.identifier.empty())
        return options.identifier;
    std::array<char, 256> name{};
    const bool known = ::gethostname(name.data(), name.size() - 1) == 0;
    return std::string(known ? name.data() : "localhost") + ":" + std::to_string(::getpid());
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
    // The posted function keeps the state.
    static_cast<void>(state->post([raw = state.get()] { raw->invalid_ ? raw->tell_fault() : raw->open(); }));
    return state;
}

/// Where nobody runs the executor, this is the only line: it says what is missing.
void client_state::tell_made() const
{
    const auto to = log_or_environment(options_->log);
    if (!store::logger{to}.on(log_level::info))
        return;
    const auto log = client_log(to, identifier_of(*options_), [] { return std::int64_t{0}; });
    store::logger{log}(log_level::info, "made for ", options_->servers,
                       ": it connects as soon as a thread runs its executor");
}

/// Once: what is asked of the client ends with `errc::invalid_option` from now on.
void client_state::tell_fault()
{
    const auto options = std::exchange(options_, std::nullopt);
    const auto fault = std::exchange(fault_, std::nullopt);
    const auto log =
        client_log(log_or_environment(options->log), identifier_of(*options), [] { return std::int64_t{0}; });
    store::logger{log}(log_level::error, "the client cannot be used: ", to_string(*fault));
    if (options->listener)
        options->listener->notify({connection_state::failed, 0, lease_clock::now(), 0, errc::invalid_option});
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
    return invalid_ ? invalid_ : make_error_code(errc::closed);
}

bool client_state::post_task(task t, bool at_once)
{
    std::unique_lock lock(mutex_);
    if (!strand_)
        return false;
    const bool first = !tasks_posted_ && tasks_.empty() && !overflow_ && !in_batch_.load(std::memory_order_acquire);
    if (first && at_once && may_run_here()) {
        const auto strand = *strand_;
        lock.unlock();
        asio::dispatch(strand, [self = shared_from_this(), t = std::move(t)] {
            self->in_a_turn([&] { t.run(t.what.get()); });
        });
        return true;
    }
    if (!tasks_posted_)
        post_tasks();
    tasks_.push_back(std::move(t));
    return true;
}

void client_state::post_reserved(std::shared_ptr<reserved_task> t) noexcept
{
    const std::lock_guard lock(mutex_);
    if (!strand_)
        return;
    try {
        tasks_.push_back({[](void* what) { static_cast<reserved_task*>(what)->run(); }, t});
    } catch (...) {
        t->next_ = std::move(overflow_);
        overflow_ = std::move(t);
    }
    try_to_post_tasks();
}

std::shared_ptr<reserved_task> client_state::take_spare() noexcept
{
    auto first = std::move(spare_);
    if (first) {
        spare_ = std::move(first->next_);
        --spares_;
    }
    return first;
}

void client_state::spare(std::shared_ptr<reserved_task> t) noexcept
{
    if (!t || spares_ == most_spares)
        return;
    t->next_ = std::move(spare_);
    spare_ = std::move(t);
    ++spares_;
}

/// To be called with the mutex locked.
void client_state::post_tasks()
{
    run_tasks_.post(*strand_, shared_from_this());
    tasks_posted_ = true;
}

/// With the mutex locked: the caller is on a thread that runs the context, so it stays; and not inside of what the
/// strand is doing just now, because whoever is called there may destroy a handler. Other executors than an
/// `io_context`'s own may let an exception of what they run at once go to their caller.
bool client_state::may_run_here() const
{
    return executors_->io && executors_->io->running_in_this_thread() && !strand_->running_in_this_thread();
}

template <class F> void client_state::in_a_turn(F&& f)
{
    if (const auto turns = core_ ? core_->turns : nullptr)
        turns->run(f);
    else
        f();
}

void client_state::run_tasks()
{
    try {
        in_a_turn([this] {
            for (bool more = true; more;) {
                more = take_batch();
                run_batch();
            }
        });
    } catch (...) {
        go_on_later();
        throw;
    }
}

/// True if it is the rest of the last one, and what was posted since then comes after it.
bool client_state::take_batch()
{
    const std::lock_guard lock(mutex_);
    tasks_posted_ = false;
    if (!batch_is_done())
        return true;
    while (overflow_) { // the first goes first
        auto next = std::exchange(overflow_->next_, std::move(before_batch_));
        before_batch_ = std::exchange(overflow_, std::move(next));
    }
    end_batch();
    batch_.swap(tasks_);
    in_batch_.store(true, std::memory_order_relaxed);
    return false;
}

void client_state::run_batch()
{
    while (before_batch_) {
        const auto t = std::move(before_batch_);
        before_batch_ = std::move(t->next_);
        t->run();
    }
    while (!batch_is_done()) {
        const auto t = std::move(batch_[next_++]); // gone from there, whatever comes of it
        t.run(t.what.get());
    }
    end_batch();
}

void client_state::end_batch() noexcept
{
    if (batch_.capacity() <= most_spare_tasks)
        batch_.clear();
    else
        batch_ = {};
    next_ = 0;
    in_batch_.store(false, std::memory_order_release);
}

/// Tasks of the batch that were not done are done before all that is posted later.
void client_state::go_on_later() noexcept
{
    if (batch_is_done())
        end_batch();
    const std::lock_guard lock(mutex_);
    to_be_posted_.store(false, std::memory_order_relaxed);
    if (strand_ && !(batch_is_done() && tasks_.empty() && !overflow_))
        try_to_post_tasks();
}

/// To be called with the mutex locked. If it fails, the end of the next turn tries again, and so does the next post.
void client_state::try_to_post_tasks() noexcept
{
    if (tasks_posted_)
        return;
    try {
        post_tasks();
    } catch (...) {
        to_be_posted_.store(true, std::memory_order_relaxed);
    }
}

/// One after the other, however many there are.
void client_state::drop(std::shared_ptr<reserved_task> list) noexcept
{
    while (list)
        list = std::move(list->next_);
}

void client_state::open()
{
    options_->identifier = identifier_of(*options_);
    const auto session = [this] { return core_ ? core_->session.id() : std::int64_t{0}; };
    options_->log = client_log(log_or_environment(std::move(options_->log)), options_->identifier, session);
    core_ = std::make_unique<client_core>(*strand_, *options_, holds_, connection_counters_);
    forks_.store(runtime::fork_count(), std::memory_order_relaxed);
    options_.reset();
    core_->turns->add(std::shared_ptr<runtime::turns::finisher>(shared_from_this(), this));
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
    if (to_be_posted_.load(std::memory_order_relaxed))
        go_on_later();
}

lease_clock::time_point client_state::turn_time()
{
    if (!core_ || !core_->turns->open())
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
    m.by_name = lock_counters_.read();
    const bool ended = !alive(); // whoever was left over then is counted nowhere
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
    store::each_told each; // whatever one of those who wait throws: the session ends, which needs no memory
    each([this] { core_->waits.end_all(make_error_code(errc::closed)); });
    each([this] { core_->session.close([this] { finish_close(); }); });
    each.rethrow();
}

void client_state::finish_close()
{
    const auto self = std::exchange(until_closed_, nullptr);
    closed_ = true;
    alive_.store(false, std::memory_order_release);
    session_id_.store(0, std::memory_order_release);
    core_->session.log(log_level::info, "closed");
    store::each_told each;
    do // what was called before this is told before the close
        each([this] { run_tasks(); });
    while (!batch_is_done());
    for (auto* list : {&pending_, &closers_})
        while (!list->empty())
            each([op = pending_operation::take_front(*list)] { op->end_as_closed(); });
    // Not from inside a function of the session's.
    post_reserved(std::shared_ptr<reserved_task>(self, &drop_core_));
    each.rethrow();
}

void client_state::close_in_background() noexcept
{
    post_reserved(std::shared_ptr<reserved_task>(shared_from_this(), &close_));
}

void client_state::context_gone() { drop_all(false); }

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
    std::vector<task> tasks, behind;
    std::shared_ptr<reserved_task> overflow;
    {
        const std::lock_guard lock(mutex_);
        tasks_.swap(tasks);
        batch_.swap(behind);
        overflow_.swap(overflow);
        strand_.swap(strand);
        std::swap(executors_, executors);
    }
    alive_.store(false, std::memory_order_release);
    state_.store(connection_state::closed, std::memory_order_release);
    session_id_.store(0, std::memory_order_release);
    drop(std::move(overflow));
    drop(std::move(before_batch_));
    // What the handlers own may come back here when it is destroyed, and finds no strand.
    for (auto* list : {&pending_, &closers_})
        while (!list->empty())
            pending_operation::take_front(*list)->abandon();
    if (core_) {
        core_->store->stop(told_of_fork);
        core_->scheduler.shutdown();
        core_.reset();
    }
}

} // namespace zklock::detail
