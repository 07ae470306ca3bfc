#pragma once
#include "adapter/client/client_core.hpp"
#include "adapter/client/client_executors.hpp"
#include "adapter/client/context_service.hpp"
#include "adapter/client/strand_task.hpp"
#include "adapter/client/unseen_guards.hpp"
#include "counters/lock_counters.hpp"
#include "runtime/forks.hpp"
#include "runtime/strand.hpp"
#include "runtime/turns.hpp"
#include "zklock/client_options.hpp"
#include "zklock/events.hpp"
#include "zklock/result.hpp"

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/intrusive/list.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

namespace zklock::detail {

namespace asio = boost::asio;

/// An operation as its client sees it; see operation.hpp.
class pending_operation
    : public strand_task,
      public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
    using place_in_list = boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

public:
    /// The client is closed, has failed, or was never open: ends the operation if it has not ended.
    virtual void end_as_closed() = 0;
    /// The execution context is going away: drops the handler uncalled.
    virtual void abandon() = 0;

    /// The first of a list, which is off the list then whatever becomes of it.
    template <class List> [[nodiscard]] static std::shared_ptr<pending_operation> take_front(List& list) noexcept
    {
        auto& first = list.front();
        list.pop_front();
        return std::move(first.self_);
    }

protected:
    /// The operation stays alive, and on the list, until it ends.
    template <class List> void enter(List& list, std::shared_ptr<pending_operation> self) noexcept
    {
        self_ = std::move(self);
        list.push_back(*this);
    }
    /// Takes it off the list, and returns what has kept it alive: perhaps the last pointer to it.
    [[nodiscard]] std::shared_ptr<pending_operation> leave() noexcept
    {
        place_in_list::unlink();
        return std::move(self_);
    }

private:
    std::shared_ptr<pending_operation> self_;
};

using pending_list = boost::intrusive::list<pending_operation, boost::intrusive::constant_time_size<false>>;

/// The state that a client's handles, locks, guards and operations share.
///
/// It may outlive the execution context; what must not is the strand, the executor and the core, which go in
/// context_gone(). Everything is done on the strand unless it says otherwise.
///
/// **Failure.** Where memory fails in a turn, or the executor takes no more, the client fails as a whole: it holds,
/// grants and sends nothing any more, and what is left on the strand does nothing but end. See turn_failed().
class client_state final : public std::enable_shared_from_this<client_state>,
                           private runtime::turns::finisher,
                           private runtime::turns::owner {
public:
    /// Makes the state and starts to open it.
    [[nodiscard]] static std::shared_ptr<client_state> make(const asio::any_io_executor&, client_options);
    ~client_state();

    // From any thread.

    /// The user's executor, or the system executor once the context is gone.
    [[nodiscard]] asio::any_io_executor executor() const;
    /// The user's executors, or the system executor's once the context is gone.
    [[nodiscard]] std::shared_ptr<const client_executors> executors() const;
    [[nodiscard]] connection_state state() const noexcept
    {
        return is_forked() ? connection_state::closed : state_.load(std::memory_order_acquire);
    }
    [[nodiscard]] std::int64_t session_id() const noexcept
    {
        return is_forked() ? 0 : session_id_.load(std::memory_order_acquire);
    }
    /// The context is there, the session was not closed, and is this process's: what the recipes say still holds.
    [[nodiscard]] bool alive() const noexcept { return alive_.load(std::memory_order_acquire) && !is_forked(); }
    /// This is a copy in a process that was forked off after the client was opened: nobody tells it what becomes of its
    /// locks.
    [[nodiscard]] bool is_forked() const noexcept
    {
        const auto then = forks_.load(std::memory_order_relaxed);
        return then != not_opened && then != runtime::fork_count();
    }
    /// Why operations of a client that cannot be used end.
    [[nodiscard]] error_code why_unusable() const noexcept;
    /// Why it has failed, if it has. On the strand.
    [[nodiscard]] error_code failure() const noexcept { return failure_; }
    /// Runs `f` on the strand, later. False, and `f` is gone, when there is none any more.
    template <class F> bool post(F f)
    {
        struct task final : strand_task {
            explicit task(F&& what) : f(std::move(what)) {}
            void run() override { f(); }
            F f;
        };
        return post_task(std::make_shared<task>(std::move(f)));
    }
    /// Does the task on the strand, later, in the order of the calls. False when there is no strand any more. Where the
    /// executor throws, the client fails.
    bool post_task(std::shared_ptr<strand_task> t) noexcept { return post_task(std::move(t), false); }
    /// The same for an operation that begins; at once, when the caller runs on the client's `io_context` and the client
    /// waits for no answer of the servers. Then there is no other operation whose requests its own could go with, and
    /// what a pass through the executor takes would be lost.
    bool start(std::shared_ptr<strand_task> t)
    {
        return post_task(std::move(t), waits_for_nothing_.load(std::memory_order_acquire));
    }
    /// The holds of the re-entrant locks.
    [[nodiscard]] const std::shared_ptr<recipes::hold_counts>& holds() const noexcept { return holds_; }
    /// Lives as long as this object, which may outlive the context.
    [[nodiscard]] detail::unseen_guards& unseen_guards() noexcept { return unseen_guards_; }
    [[nodiscard]] counters::by_name& lock_counters() noexcept { return lock_counters_; }
    [[nodiscard]] metrics read_metrics() const;
    /// Is called when the last handle goes: the client closes, and nobody is told when that is done.
    void close_in_background() noexcept;

    // On the strand.

    /// When this turn began, or a little later; of several calls in a turn the first one looks at the clock.
    [[nodiscard]] lease_clock::time_point turn_time();
    /// Null when nothing can be started: with invalid options, and once it closes.
    [[nodiscard]] client_core* open_core() const noexcept { return closing_ ? nullptr : core_.get(); }
    /// It is open, and TLS has failed with all servers.
    [[nodiscard]] bool is_insecure() const noexcept;
    [[nodiscard]] pending_list& pending() noexcept { return pending_; }
    /// Ends the session, once. Those in closers() are told when that is done.
    void close();
    [[nodiscard]] bool closed() const noexcept { return closed_ || !core_; }
    [[nodiscard]] pending_list& closers() noexcept { return closers_; }

    /// Called by the service, while nothing else runs.
    void context_gone();
    /// Called by the service in a forked process: a client that was opened before belongs to the parent.
    void forked();

private:
    struct own_task final : strand_task {
        own_task(client_state& c, void (client_state::*w)()) : client(c), what(w) {}
        void run() override { (client.*what)(); }
        client_state& client;
        void (client_state::*what)();
    };

    client_state(const asio::any_io_executor&, client_options);
    bool post_task(std::shared_ptr<strand_task>, bool at_once);
    [[nodiscard]] std::shared_ptr<strand_task> own(own_task& t) { return {shared_from_this(), &t}; }
    [[nodiscard]] bool may_run_here() const;
    [[nodiscard]] std::exception_ptr wake_strand() noexcept;
    void end_all(const std::exception_ptr& refusal) noexcept;
    void run_tasks();
    void take_batch() noexcept;
    void run_batch();
    void end_batch() noexcept;
    static void end(strand_task&) noexcept;
    void begin()
    {
        if (!failure_)
            invalid_ ? tell_fault() : open();
    }
    void open();
    void tell_made() const;
    void tell_fault();
    void tell_unopened(std::string_view what, std::string_view why) noexcept;
    void finish_close();
    void turn_ends() override;
    void turn_failed(const error_code& why, std::string_view words) noexcept override;
    void end_pending() noexcept;
    void drop_all(bool told_of_fork);
    void drop_core() { core_.reset(); }

    std::optional<option_fault> fault_; // what is wrong with the options, if anything; until it is told
    const error_code invalid_;
    error_code failure_;
    std::optional<client_options> options_; // until open()
    std::shared_ptr<context_service<client_state>::registry> registry_;
    detail::unseen_guards unseen_guards_;
    counters::by_name lock_counters_;
    counters::connection_counters connection_counters_;
    std::optional<lease_clock::time_point> turn_time_; // while a turn goes on, if somebody has asked
    const std::shared_ptr<recipes::hold_counts> holds_ = std::make_shared<recipes::hold_counts>(&runtime::fork_count);

    mutable std::mutex mutex_;                          // guards these
    std::shared_ptr<const client_executors> executors_; ///< null once the context is gone
    std::optional<runtime::strand> strand_;             ///< none either once the executor does not run it any more
    task_line tasks_;
    bool tasks_posted_ = false;
    bool ends_all_ = false; ///< a thread: the executor does not run the strand any more

    std::atomic<connection_state> state_;
    std::atomic<std::int64_t> session_id_{0};
    std::atomic<bool> alive_{true};
    static constexpr std::uint64_t not_opened = ~std::uint64_t{0};
    std::atomic<std::uint64_t> forks_{not_opened}; // of this process, when the client was opened
    std::atomic<bool> waits_for_nothing_{false};   // as of the end of the last turn

    task_line batch_;                   // those tasks that were taken last
    std::atomic<bool> in_batch_{false}; // it is not done
    const std::shared_ptr<runtime::turns> turns_ = std::make_shared<runtime::turns>();
    runtime::wake_up run_tasks_{[this] { run_tasks(); }};
    own_task begin_{*this, &client_state::begin};
    own_task close_{*this, &client_state::close};
    own_task drop_core_{*this, &client_state::drop_core};
    std::shared_ptr<client_state> until_closed_; // this, while it closes
    std::unique_ptr<client_core> core_;
    pending_list pending_;
    pending_list closers_;
    bool closing_ = false;
    bool closed_ = false;
};

/// What the handles of clients and locks share: the client closes when the last one goes.
class client_handle {
public:
    explicit client_handle(std::shared_ptr<client_state> state) : state_(std::move(state)) {}
    ~client_handle() { state_->close_in_background(); }
    client_handle(const client_handle&) = delete;
    client_handle& operator=(const client_handle&) = delete;

    [[nodiscard]] const std::shared_ptr<client_state>& state() const noexcept { return state_; }

private:
    std::shared_ptr<client_state> state_;
};

} // namespace zklock::detail
