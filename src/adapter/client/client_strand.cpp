#include "adapter/client/client_strand.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/system_executor.hpp>

namespace zklock::detail {

void client_strand::join_turns()
{
    turns_->add(runtime::turns::kind::client, std::shared_ptr<runtime::turns::finisher>(keep(), this));
    turns_->belong_to(std::shared_ptr<runtime::turns::owner>(keep(), this));
}

std::shared_ptr<const client_executors> client_strand::executors() const
{
    static const auto none = std::make_shared<const client_executors>(asio::any_io_executor(asio::system_executor()));
    const std::lock_guard lock(mutex_);
    return executors_ ? executors_ : none;
}

bool client_strand::post_task(std::shared_ptr<strand_task> t, bool at_once)
{
    if (!task_line::claim(*t))
        return true;
    std::unique_lock lock(mutex_);
    if (!strand_)
        return false;
    const bool first = !tasks_posted_ && tasks_.empty() && !in_batch_.load(std::memory_order_acquire);
    if (first && at_once && may_run_here()) {
        lock.unlock(); // the strand stays as long as the context runs something, and the task keeps this
        strand_->execute([this, t = std::move(t)] {
            task_line::release(*t);
            bool begun = false;
            turns_->run([&] {
                begun = true;
                t->run();
            });
            if (!begun)
                end(*t);
        });
        return true;
    }
    tasks_.push(std::move(t));
    if (ends_all_)
        return true;
    const auto refusal = wake_strand();
    if (refusal) {
        ends_all_ = true;
        lock.unlock();
        end_all(refusal);
    }
    return true;
}

/// With the mutex locked: has the tasks run. Gives what the executor has thrown, now or before: then nobody is in the
/// strand, nor will be.
std::exception_ptr client_strand::wake_strand() noexcept
{
    if (!std::exchange(tasks_posted_, true))
        try {
            run_tasks_.post(*strand_, keep());
        } catch (...) {
            return std::current_exception();
        }
    return strand_->get_inner_executor().refusal();
}

/// The client fails, as on the strand, in which nobody is. What others post meanwhile ends here, too; after that, there
/// is no strand any more.
void client_strand::end_all(const std::exception_ptr& refusal) noexcept
{
    const auto self = keep();
    std::optional<runtime::strand> strand; // what it holds may come back here
    if (!failure_)
        runtime::turns::tell(*this, refusal);
    while (strand_) {
        take_batch();
        end_batch();
        const std::lock_guard lock(mutex_);
        if (tasks_.empty())
            strand_.swap(strand);
    }
}

/// With the mutex locked: the caller is on a thread that runs the context, so it stays; and not inside of what the
/// strand is doing just now, because what is called there may destroy a handler. Other executors than an
/// `io_context`'s own may let an exception of what they run at once go to their caller.
bool client_strand::may_run_here() const
{
    const auto* const io = std::get_if<runtime::io_executor>(&executors_->known);
    return io && io->running_in_this_thread() && !strand_->running_in_this_thread();
}

/// All tasks that were posted before the strand comes to them are done in one turn of it.
void client_strand::run_tasks()
{
    take_batch();
    turns_->run([this] { run_batch(); });
    if (failure_)
        end_batch();
}

void client_strand::take_batch() noexcept
{
    const std::lock_guard lock(mutex_);
    tasks_posted_ = false;
    batch_.take_all(tasks_);
    in_batch_.store(true, std::memory_order_relaxed);
}

void client_strand::run_batch()
{
    while (const auto t = batch_.take_first())
        t->run();
    in_batch_.store(false, std::memory_order_release);
}

void client_strand::end_batch() noexcept
{
    while (const auto t = batch_.take_first())
        end(*t);
    in_batch_.store(false, std::memory_order_release);
}

/// The client has failed: the task ends what it was to begin.
void client_strand::end(strand_task& t) noexcept
{
    try {
        t.run();
    } catch (...) { // NOLINT: the executor does not take the handler, which is destroyed
    }
}

lease_clock::time_point client_strand::turn_time()
{
    if (!turns_->open())
        return lease_clock::now();
    if (!turn_time_)
        turn_time_ = lease_clock::now();
    return *turn_time_;
}

void client_strand::turn_ends()
{
    turn_time_.reset();
    was_waiting_for_nothing_.store(waits_for_nothing(), std::memory_order_release);
}

/// No memory is needed but what is kept.
void client_strand::turn_failed(const error_code& why, std::string_view words) noexcept
{
    const auto self = keep();
    failure_ = why;
    fail(words);
    end_batch();
}

auto client_strand::leave_context() noexcept -> of_context
{
    of_context gone;
    const std::lock_guard lock(mutex_);
    gone.tasks.take_all(tasks_);
    gone.batch.take_all(batch_);
    strand_.swap(gone.strand);
    std::swap(executors_, gone.executors);
    return gone;
}

} // namespace zklock::detail
