// What an acquire of permits does at its deadline, and what is told of its wait then.
#include "recipes/semaphore/semaphore_acquisition.hpp"

#include "recipes/semaphore/semaphore_path.hpp"

namespace zklock::recipes {

void semaphore_acquisition::expect_time_out()
{
    if (waiting() && path_)
        path_->look_at_holder();
}

void semaphore_acquisition::time_out(errc why)
{
    fail(why);
}

/// Its place is that in the line. The first in the line holds no permit, but waits for one, too: if that is one of ours
/// it keeps nobody waiting by itself.
known_wait semaphore_acquisition::waits_for()
{
    known_wait report;
    if (!waiting() || !path_)
        return report;
    if (place_ && !place_->granted && place_->lock)
        report = place_->lock->describe_wait();
    else
        report.others = lacks_room();
    report.others = report.others && !path_->head_finds_room();
    if (!nodes.empty() && nodes.front()->now == permit_node::phase::there)
        report.node = path_->path_of(*nodes.front());
    report.path = path_->path();
    report.held_by = path_->holder_seen();
    report.permits = path_->permits_known();
    return report;
}

} // namespace zklock::recipes
