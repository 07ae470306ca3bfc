#include "recipes/acquisition/timed_acquisition.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace zklock::recipes {
namespace {

using time_point = store::scheduler::time_point;

/// So late that few are looked for who are granted in time, and early enough for an answer.
time_point shortly_before(time_point deadline, time_point now) noexcept
{
    using duration = time_point::duration;
    return deadline - std::clamp<duration>((deadline - now) / 4, duration::zero(), std::chrono::milliseconds(250));
}

} // namespace

void timed_acquisition::arm_deadline()
{
    if (!call_.deadline || timer_ != 0)
        return;
    timer_ = session_.scheduler.call_at(shortly_before(*call_.deadline, session_.scheduler.now()), [this] {
        timer_ = 0;
        deadline_is_near();
    });
}

void timed_acquisition::deadline_is_near()
{
    timer_ = session_.scheduler.call_at(*call_.deadline, [this] {
        timer_ = 0;
        report_.keep(waits_for());
        time_out(session_.lease().time_is_up(report_.names_others()));
    });
    expect_time_out();
}

} // namespace zklock::recipes
