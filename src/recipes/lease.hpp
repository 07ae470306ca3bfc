#pragma once
#include "zklock/lease_clock.hpp"

#include <atomic>
#include <chrono>
#include <deque>
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

/// How long the session is known to live, by this machine's clock, counted from when something left that the leader
/// knows to have come.
///
/// The leader decides about the session, but the client talks to a follower, who tells the leader which sessions it
/// heard from with each of the leader's pings, every half tick. So an answer that came through the leader does not mean
/// that the leader has counted the request itself as a sign of life; it does mean that the two were in touch, so that
/// requests answered a margin before it left were counted. No session is shorter than two ticks: a quarter of the
/// time-out covers half a tick.
/// A new session, in contrast, is known to the leader at once. One that is taken up again is not: a leader that slept
/// while others took over confirms it in the moment before it notices.
class lease {
public:
    using time_point = lease_clock::time_point;
    using duration = lease_clock::duration;

    /// `margin` empty: a quarter of the session time-out. A lease counts as ended `notice` before its end.
    lease(double drift, std::optional<duration> margin, duration notice);

    /// A session with this time-out is there. The term of an earlier one ends.
    void open(duration session_timeout);
    /// The session came into being after `sent`, and the leader knows it. It counts a margin less, so that whoever
    /// holds hears of the end at least a margin before it, from the first moment on.
    void opened(time_point sent, time_point now);
    /// The leader knows that the session lived at `sent`.
    void confirmed(time_point sent, time_point now);
    /// Something sent at `sent` was answered just now, through the leader. Calls come in the order of both times.
    void answered(time_point sent, time_point now);
    /// The session is over, or no longer ours to use.
    void end();

    /// Whether a grant may be given now, in term().
    [[nodiscard]] bool fresh(time_point now) const noexcept { return now < ends(); }
    /// It has ended, and end() was not called.
    [[nodiscard]] bool lapsed(time_point now) const noexcept { return term_->until() != time_point{} && !fresh(now); }
    /// When fresh() turns false, if nothing is answered before.
    [[nodiscard]] time_point ends() const noexcept { return term_->until() - notice_; }
    [[nodiscard]] const std::shared_ptr<const lease_term>& term() const noexcept { return shown_; }
    [[nodiscard]] duration notice() const noexcept { return notice_; }
    /// What is left of it when a heartbeat falls due, if every one is answered. Not more than the notice: no grant
    /// would last.
    [[nodiscard]] duration remainder() const noexcept;
    [[nodiscard]] duration timeout() const noexcept { return timeout_; }
    /// When to ask again, to keep it fresh: whatever else is asked meanwhile may come too early to count.
    [[nodiscard]] time_point next_heartbeat() const noexcept { return last_beat_ + interval(); }
    void heartbeat_answered(time_point now) noexcept { last_beat_ = now; }

private:
    [[nodiscard]] duration interval() const noexcept { return timeout_ / 4; }
    [[nodiscard]] duration margin() const noexcept { return margin_.value_or(timeout_ / 4); }
    [[nodiscard]] duration sure() const noexcept;
    void begin_term();

    double drift_;
    std::optional<duration> margin_;
    duration notice_;
    duration timeout_{};
    struct exchange {
        time_point sent;
        time_point answered;
    };
    time_point last_beat_{}; ///< when it was answered
    std::deque<exchange> uncounted_; ///< by the leader, for all we know; some way apart
    std::shared_ptr<lease_term> term_;
    std::shared_ptr<const lease_term> shown_;
};

} // namespace zklock::recipes
