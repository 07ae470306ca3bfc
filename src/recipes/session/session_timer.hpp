#pragma once
#include "store/scheduler.hpp"

#include <functional>

namespace zklock::recipes {

class session;

/// One of a session's own timers. Where its turn comes late, the log says so: see lease_keeper::notice_slow_turn().
class session_timer {
public:
    using time_point = store::scheduler::time_point;

    explicit session_timer(session& s) noexcept : session_(s) {}
    ~session_timer() { call_off(); }
    session_timer& operator=(session_timer&&) = delete;

    /// Calls `f` at that time, once, and not what was planned before.
    void plan(time_point when, std::function<void()> f);
    void call_off();
    /// Its turn is still to come.
    [[nodiscard]] bool planned() const noexcept { return id_ != 0; }

private:
    session& session_;
    store::scheduler::timer_id id_ = 0;
};

} // namespace zklock::recipes
