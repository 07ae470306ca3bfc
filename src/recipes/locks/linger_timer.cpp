#include "recipes/locks/linger_timer.hpp"

#include "recipes/locks/lock_path.hpp"

namespace zklock::recipes {

void linger_timer::begin()
{
    since_ = session_.scheduler.now();
    plan_end();
}

/// One timer serves many releases: it looks how long ago the last one was.
void linger_timer::plan_end()
{
    if (timer_ != 0)
        return;
    timer_ = session_.scheduler.call_at(since_ + linger_, [this] {
        timer_ = 0;
        if (queue_.own().lingering() == nullptr)
            return;
        if (session_.scheduler.now() < since_ + linger_)
            return plan_end();
        queue_.stop_lingering();
        lock_.advance();
    });
}

} // namespace zklock::recipes
