#pragma once
#include "recipes/locks/path_part.hpp"
#include "store/scheduler.hpp"

#include <chrono>

namespace zklock::recipes {

/// Ends the lingering of a lock_path's nodes, each in time.
class linger_timer final : private path_part {
public:
    linger_timer(const path_part& part, std::chrono::milliseconds linger) : path_part(part), linger_(linger) {}
    ~linger_timer() { session_.scheduler.cancel(timer_); }

    /// From now on a node lingers.
    void begin();

private:
    void plan_end();

    const std::chrono::milliseconds linger_;
    store::scheduler::time_point since_{};
    store::scheduler::timer_id timer_ = 0;
};

} // namespace zklock::recipes
