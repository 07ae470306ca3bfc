#pragma once
#include "adapter/client/client_executors.hpp"
#include "adapter/client/strand_task.hpp"
#include "runtime/strand.hpp"
#include "runtime/turns.hpp"
#include "zklock/events.hpp"
#include "zklock/result.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

namespace zklock::detail {

/// A client's strand on the user's executor, and what is done there: posted from any thread, and done in order. It may
/// outlive the execution context; what must not is the strand and the executor, which go in leave_context().
class client_strand : private runtime::turns::finisher, private runtime::turns::owner {
public:
    // From any thread.

    /// The user's executor, or the system executor once the context is gone.
    [[nodiscard]] asio::any_io_executor executor() const { return executors()->executor; }
    /// The user's executors, or the system executor's once the context is gone.
    [[nodiscard]] std::shared_ptr<const client_executors> executors() const;
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
        return post_task(std::move(t), was_waiting_for_nothing_.load(std::memory_order_acquire));
    }

    // On the strand.

    /// When this turn began, or a little later; of several calls in a turn the first one looks at the clock.
    [[nodiscard]] lease_clock::time_point turn_time();
    /// Why the client has failed, if it has: what is left on the strand does nothing but end.
    [[nodiscard]] error_code failure() const noexcept { return failure_; }

protected:
    /// What goes with the context. To be destroyed last: what it holds may come back to the client.
    struct of_context {
        std::optional<runtime::strand> strand;
        std::shared_ptr<const client_executors> executors;
        task_line batch, tasks;

        void drop_tasks() noexcept
        {
            for (auto* line : {&batch, &tasks})
                while (line->take_first()) {
                }
        }
    };

    explicit client_strand(const asio::any_io_executor& e)
        : executors_(std::make_shared<client_executors>(e)), strand_(runtime::make_strand(e))
    {
    }
    ~client_strand() = default;

    /// Before anything is posted.
    void join_turns();
    /// Until the context is gone.
    [[nodiscard]] const runtime::strand& strand() const noexcept { return *strand_; }
    [[nodiscard]] const std::shared_ptr<runtime::turns>& turns() const noexcept { return turns_; }
    /// Does in this turn what was posted so far.
    void run_posted()
    {
        take_batch();
        run_batch();
    }
    [[nodiscard]] of_context leave_context() noexcept;

private:
    /// What is under way keeps the client in memory.
    [[nodiscard]] virtual std::shared_ptr<void> keep() = 0;
    /// It waits for no answer of the servers, at the end of a turn.
    [[nodiscard]] virtual bool waits_for_nothing() const = 0;
    /// A turn has failed, or the executor takes no more: ends everything but the tasks. See turns::owner.
    virtual void fail(std::string_view words) noexcept = 0;

    bool post_task(std::shared_ptr<strand_task>, bool at_once);
    [[nodiscard]] bool may_run_here() const;
    [[nodiscard]] std::exception_ptr wake_strand() noexcept;
    void end_all(const std::exception_ptr& refusal) noexcept;
    void run_tasks();
    void take_batch() noexcept;
    void run_batch();
    void end_batch() noexcept;
    static void end(strand_task&) noexcept;
    void turn_ends() override;
    void turn_failed(const error_code& why, std::string_view words) noexcept override;

    mutable std::mutex mutex_;                          // guards these
    std::shared_ptr<const client_executors> executors_; ///< null once the context is gone
    std::optional<runtime::strand> strand_;             ///< none either once the executor does not run it any more
    task_line tasks_;
    bool tasks_posted_ = false;
    bool ends_all_ = false; ///< a thread: the executor does not run the strand any more

    std::atomic<bool> was_waiting_for_nothing_{false}; // as of the end of the last turn
    task_line batch_;                                  // those tasks that were taken last
    std::atomic<bool> in_batch_{false};                // it is not done
    const std::shared_ptr<runtime::turns> turns_ = std::make_shared<runtime::turns>();
    runtime::wake_up run_tasks_{[this] { run_tasks(); }};
    std::optional<lease_clock::time_point> turn_time_; // while a turn goes on, if somebody has asked
    error_code failure_;
};

} // namespace zklock::detail
