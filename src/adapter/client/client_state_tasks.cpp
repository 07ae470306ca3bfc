// What is done on a client's strand: posted from any thread, and done in order, whatever is thrown and whether there is
// memory or not.
#include "adapter/client/client_state.hpp"

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

namespace zklock::detail {

namespace {

constexpr std::size_t most_spare_tasks = 4096; // whose memory is kept
constexpr std::size_t most_spares = 256;

} // namespace

bool client_state::post_task(task t, bool at_once)
{
    std::unique_lock lock(mutex_);
    if (!strand_)
        return false;
    const bool first = !tasks_posted_ && tasks_.empty() && !overflow_ && !in_batch_.load(std::memory_order_acquire);
    if (first && at_once && may_run_here()) {
        lock.unlock(); // the strand stays as long as the context runs something, and the task keeps this
        strand_->execute([this, t = std::move(t)] { in_a_turn([&] { t.run(t.what.get()); }); });
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

/// With the mutex locked.
void client_state::post_tasks()
{
    run_tasks_.post(*strand_, shared_from_this());
    tasks_posted_ = true;
}

/// With the mutex locked: the caller is on a thread that runs the context, so it stays; and not inside of what the
/// strand is doing just now, because what is called there may destroy a handler. Other executors than an
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

/// What was not done is done before all that is posted later.
void client_state::go_on_later() noexcept
{
    if (batch_is_done())
        end_batch();
    const std::lock_guard lock(mutex_);
    to_be_posted_.store(false, std::memory_order_relaxed);
    if (strand_ && !(batch_is_done() && tasks_.empty() && !overflow_))
        try_to_post_tasks();
}

/// With the mutex locked. If it fails, the end of the next turn tries again, and every caller that posts something.
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

} // namespace zklock::detail
