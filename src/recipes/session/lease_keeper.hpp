#pragma once
#include "recipes/lease/lease.hpp"
#include "recipes/session/session_timer.hpp"
#include "store/repeats.hpp"
#include "store/scheduler.hpp"
#include "store/store.hpp"
#include "zklock/errc.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

namespace zklock::recipes {

class session;
class session_member;

/// Keeps a session's lease: by its heartbeat, which goes on while nobody waits or holds, so that a lock can be granted
/// by the first answer. It tells the members when the lease has ended, and when the session should be over.
class lease_keeper {
public:
    using time_point = store::scheduler::time_point;

    explicit lease_keeper(session&);
    lease_keeper& operator=(lease_keeper&&) = delete;

    [[nodiscard]] bool fresh() const;
    [[nodiscard]] bool fresh(time_point now) const { return lease_.fresh(now); }
    [[nodiscard]] bool renewable(time_point now) const noexcept { return lease_.renewable(now); }
    /// Whether a lock may be granted now: only while the lease is renewable. If not, members advance once it is; and
    /// tries end if it is not for a time-out, because the connection is too slow for it.
    [[nodiscard]] bool grants(time_point now) noexcept
    {
        const bool answer = renewable(now);
        if (!answer && !awaited_since_)
            awaited_since_ = now;
        return answer;
    }
    [[nodiscard]] const std::shared_ptr<const lease_span>& span() const noexcept { return lease_.span(); }
    /// The times of the present session.
    [[nodiscard]] const lease_times& times() const noexcept { return lease_.times(); }
    /// The lease of one that is granted something now.
    [[nodiscard]] held_lease held_since(time_point now) const noexcept { return {span(), times().notice, now}; }
    /// The lease cannot last from one heartbeat to the next: the margin and the notice take too much of it.
    [[nodiscard]] bool impossible() const noexcept { return !times().possible(); }

    /// With what an acquire ends whose time is up: with `errc::timed_out` if others keep it waiting, as the last look
    /// in this session has shown, and the servers were heard from within its time-out; else with `errc::not_connected`.
    [[nodiscard]] errc time_is_up(bool others) const noexcept;

    /// Takes note of the answer to a write or a sync. It renews the lease if it is `ok`: that came through the leader.
    /// A follower cut off from its leader answers reads for a while, although the leader may have ended the session;
    /// and with enableEagerACLCheck it refuses writes by itself. The C client refuses some, too.
    void heard(const store::reply&);

    /// Tells the holders if the lease has ended meanwhile: before anything renews it, or a release hides it. The timer
    /// for that may be late, when the process was not running.
    void notice_lapse(time_point now);

    /// A lock of that member was granted: the end of the lease matters from now on, and whether somebody else deletes
    /// the node.
    void granted(session_member&);
    /// That member goes.
    void forget(session_member&) noexcept;

    // --- called by the session ---------------------------------------------------------------------------------------

    /// There is a connection, and the lease of its session is opened, or goes on.
    void open(const store::connect_reply&, time_point now);
    /// An epoch begins: the session lives, as its answer has shown.
    void epoch_began();
    /// Plans the next heartbeat, while there is a connection.
    void plan_beat();
    /// The connection is gone. Unless there is another by then, it is told when the session should be over: the servers
    /// may have heard of it until now, and it may have the longest time that it was granted. That is measured by a
    /// clock that runs on while the machine sleeps.
    void connection_ended(time_point now);
    /// When the last session should be over that has lost its connection.
    [[nodiscard]] time_point session_over_at() const noexcept { return over_at_; }
    /// The session is over, or no longer ours to use.
    void end();
    void tell_lapse();
    /// How much time the servers have given the session last.
    [[nodiscard]] std::chrono::milliseconds granted_timeout() const noexcept
    {
        return std::chrono::duration_cast<std::chrono::milliseconds>(last_granted_);
    }

    /// The turn of a timer begins that was due then.
    void notice_slow_turn(time_point due) noexcept;

private:
    void heard(const store::reply&, time_point now);
    void beat();
    void end_tries(time_point now);
    void count_beat_not_sent(time_point now) noexcept;
    void plan_watch();
    void watch();
    void session_should_be_over();
    void look_at_later(session_member&);
    void plan_look(time_point now);
    void look_for_long_holders();
    [[nodiscard]] lease_clock::duration bearable_delay() const noexcept;

    session& session_;
    lease lease_;
    std::chrono::nanoseconds first_granted_{0}; ///< time-out, when the session began
    /// By the connection before, or by this one.
    std::chrono::nanoseconds last_granted_{0};
    struct connect {
        time_point sent, answered;
    };
    std::optional<connect> taken_up_;         ///< the session was by that, in an epoch that may begin
    bool beating_ = false;                    ///< a sync is under way
    std::optional<time_point> awaited_since_; ///< that it becomes renewable
    time_point beat_due_{};
    store::repeats slow_turns_;
    std::vector<session_member*> holders_; ///< granted lately
    session_timer beat_timer_;
    session_timer lapse_timer_;
    session_timer holders_timer_;
    time_point over_at_{}; ///< when the session should be over
    session_timer over_timer_;
};

} // namespace zklock::recipes
