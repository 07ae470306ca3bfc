// The deadline of an acquire of permits, and what is told once it has timed out.
#include "recipes/semaphore/semaphore_acquisition.hpp"

#include "recipes/semaphore/semaphore_path.hpp"

#include <memory>
#include <new>
#include <utility>

namespace zklock::recipes {

void semaphore_acquisition::plan_deadline()
{
    if (!request_.deadline || deadline_ != 0)
        return;
    const auto soon = shortly_before(*request_.deadline, session_.scheduler.now());
    deadline_ = session_.scheduler.call_at(soon, [this] {
        deadline_ = 0;
        session_.attempt([this] {
            await_deadline();
            expect_time_out();
        });
    });
}

void semaphore_acquisition::await_deadline()
{
    deadline_ = session_.scheduler.call_at(*request_.deadline, [this] {
        deadline_ = 0;
        session_.attempt([this] { time_out(); });
    });
}

void semaphore_acquisition::expect_time_out()
{
    if (waiting() && path_)
        path_->look_at_holder();
}

void semaphore_acquisition::time_out()
{
    try {
        if (waiting())
            waited_for_ = std::make_unique<wait_report>(describe_wait());
    } catch (const std::bad_alloc&) { // NOLINT: its caller hears less
    }
    fail(errc::timed_out);
}

/// Its place is that in the line. The first in the line holds no permit, but waits for one, too.
wait_report semaphore_acquisition::describe_wait()
{
    if (waited_for_)
        return std::move(*std::exchange(waited_for_, nullptr));
    wait_report report;
    if (!waiting() || !path_)
        return report;
    if (!nodes.empty() && nodes.front()->now == permit_node::phase::there)
        report.node = path_->path_of(*nodes.front());
    else if (place_ && !place_->granted && place_->lock)
        report = place_->lock->describe_wait();
    report.path = path_->path();
    report.held_by = path_->holder_seen();
    return report;
}

} // namespace zklock::recipes
