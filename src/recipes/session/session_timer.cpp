#include "recipes/session/session_timer.hpp"

#include "recipes/session/session.hpp"

#include <algorithm>
#include <utility>

namespace zklock::recipes {

void session_timer::plan(time_point when, std::function<void()> f)
{
    call_off();
    const auto due = session_.log.on(log_level::warning) ? std::max(when, session_.scheduler.now()) : when;
    id_ = session_.scheduler.call_at(when, [this, due, f = std::move(f)] {
        id_ = 0;
        session_.lease().notice_slow_turn(due);
        f();
    });
}

void session_timer::call_off()
{
    session_.scheduler.cancel(std::exchange(id_, 0));
}

} // namespace zklock::recipes
