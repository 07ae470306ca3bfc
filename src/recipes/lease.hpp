#pragma once
#include "zklock/lease_clock.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

namespace zklock::recipes {

/// One unbroken stretch of time for which the client may believe that its session lives. Guards keep the term they were
/// granted in; a term that has ended never begins again.
///
/// Thread safety: the observers may be called from any thread.
class lease_term {
public:
    using time_point = lease_clock::time_point;

    /// The session cannot end before this, under the assumptions of the lease.
    [[nodiscard]] time_point until() const noexcept
    {
        return time_point(time_point::duration(until_.load(std::memory_order_relaxed)));
    }

private:
    friend class lease;
    std::atomic<time_point::rep> until_{0};
};

/// How long the session is known to live, by this machine's clock: counted from when a request left that a server has
/// answered, less what the clocks may drift apart and a margin. The margin covers what a follower has heard of the session
/// and its leader has not yet: followers tell with each ping, every half tick, and no session is shorter than two ticks.
class lease {
public:
    using time_point = lease_clock::time_point;
    using duration = lease_clock::duration;

    /// `margin` empty: a quarter of the session time-out. A lease counts as ended `notice` before its end.
    lease(double drift, std::optional<duration> margin, duration notice);

    /// A session with this time-out is there. The term of an earlier one ends.
    void open(duration session_timeout);
    /// The servers were asked something at `sent` and have answered, in the open session.
    void answered(time_point sent, time_point now);
    /// The session is over, or no longer ours to use.
    void end();

    /// Whether a grant may be given now, in term().
    [[nodiscard]] bool fresh(time_point now) const noexcept { return now < ends(); }
    /// When fresh() turns false, if nothing is answered before.
    [[nodiscard]] time_point ends() const noexcept { return term_->until() - notice_; }
    [[nodiscard]] const std::shared_ptr<const lease_term>& term() const noexcept { return shown_; }
    [[nodiscard]] duration notice() const noexcept { return notice_; }
    /// How long one answer keeps it. Not positive, or not longer than the notice: no grant can ever be given.
    [[nodiscard]] duration length() const noexcept;
    /// The latest send time that was answered.
    [[nodiscard]] time_point last_answered() const noexcept { return last_answered_; }
    /// How often to ask, to keep it fresh.
    [[nodiscard]] duration heartbeat() const noexcept { return timeout_ / 4; }

private:
    void begin_term();

    double drift_;
    std::optional<duration> margin_;
    duration notice_;
    duration timeout_{};
    time_point last_answered_{};
    std::shared_ptr<lease_term> term_;
    std::shared_ptr<const lease_term> shown_;
};

} // namespace zklock::recipes
