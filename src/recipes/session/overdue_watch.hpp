#pragma once
#include "recipes/session/session_timer.hpp"
#include "store/scheduler.hpp"

namespace zklock::recipes {

class session;

/// Notices when a session should be over that has no connection, by a clock that runs on while the machine sleeps: the
/// servers, which may have heard of it until the connection ended, keep it no longer, if they run.
class overdue_watch {
public:
    using time_point = store::scheduler::time_point;

    explicit overdue_watch(session& s) : session_(s), timer_(s) {}

    /// The connection ended; nothing was heard after it, and the session should be over then: by the longest time that
    /// it was granted.
    void connection_ended(time_point over_at) noexcept { over_at_ = over_at; }
    /// Waits until then, if that was not noticed yet.
    void begin();
    void connected();
    void call_off() { timer_.call_off(); }
    /// When the last session should be over that has lost its connection.
    [[nodiscard]] time_point over_at() const noexcept { return over_at_; }

private:
    void notice();

    session& session_;
    time_point over_at_{};
    bool overdue_ = false; ///< as long as there is no connection
    session_timer timer_;
};

} // namespace zklock::recipes
