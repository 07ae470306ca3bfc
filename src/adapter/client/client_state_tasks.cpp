// What is done on a client's strand: posted from any thread, and done in order.
#include "adapter/client/client_state.hpp"

#include <boost/asio/io_context.hpp>

#include <memory>
#include <mutex>
#include <utility>

namespace zklock::detail {

bool client_state::post_task(std::shared_ptr<strand_task> t, bool at_once)
{
    if (!task_line::claim(*t))
        return true;
    std::unique_lock lock(mutex_);
    if (!strand_ || stands_still_)
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
    if (wake_strand())
        return true;
    stands_still_ = true;
    lock.unlock();
    take_batch();
    turn_failed(make_error_code(errc::closed)); // as on the strand
    return true;
}

/// With the mutex locked: has the tasks run. False if the executor throws: then nobody is in the strand, nor will be.
bool client_state::wake_strand() noexcept
{
    if (std::exchange(tasks_posted_, true))
        return true;
    try {
        run_tasks_.post(*strand_, shared_from_this());
        return true;
    } catch (...) { // NOLINT: the client fails
        return false;
    }
}

/// With the mutex locked: the caller is on a thread that runs the context, so it stays; and not inside of what the
/// strand is doing just now, because what is called there may destroy a handler. Other executors than an
/// `io_context`'s own may let an exception of what they run at once go to their caller.
bool client_state::may_run_here() const
{
    return executors_->io && executors_->io->running_in_this_thread() && !strand_->running_in_this_thread();
}

/// All tasks that were posted before the strand comes to them are done in one turn of it.
void client_state::run_tasks()
{
    take_batch();
    turns_->run([this] { run_batch(); });
    if (failure_)
        end_batch();
}

void client_state::take_batch() noexcept
{
    const std::lock_guard lock(mutex_);
    tasks_posted_ = false;
    batch_.take_all(tasks_);
    in_batch_.store(true, std::memory_order_relaxed);
}

void client_state::run_batch()
{
    while (const auto t = batch_.take_first())
        t->run();
    in_batch_.store(false, std::memory_order_release);
}

void client_state::end_batch() noexcept
{
    while (const auto t = batch_.take_first())
        end(*t);
    in_batch_.store(false, std::memory_order_release);
}

/// The client has failed: the task ends what it was to begin.
void client_state::end(strand_task& t) noexcept
{
    try {
        t.run();
    } catch (...) { // NOLINT: the executor does not take the handler, which is destroyed
    }
}

} // namespace zklock::detail
