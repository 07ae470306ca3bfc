#pragma once
#include "zklock/events.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

namespace zklock::recipes {

/// One unbroken stretch of time for which the client may believe that its session lives. Guards keep the span they were
/// granted in; a span that has ended never begins again.
///
/// Thread safety: the observers may be called from any thread.
class lease_span {
public:
    using time_point = lease_clock::time_point;

    /// The session cannot end before this, under the assumptions of the lease.
    [[nodiscard]] time_point until() const noexcept
    {
        return time_point(time_point::duration(until_.load(std::memory_order_relaxed)));
    }
    /// When something came through the servers' leader last, in this span or before it.
    [[nodiscard]] time_point heard() const noexcept
    {
        return time_point(time_point::duration(heard_.load(std::memory_order_relaxed)));
    }

private:
    friend class lease;
    std::atomic<time_point::rep> until_{0};
    std::atomic<time_point::rep> heard_{0};
};

/// How the time of a session is divided. Of the time-out, the drift of the clocks, the margin and the notice are spent;
/// what is left has to last from one heartbeat to the next.
struct lease_times {
    using duration = lease_clock::duration;

    double drift = 0;                      ///< how much faster than ours the servers' clock may run
    duration tick{};                       ///< of the servers, at most
    std::optional<duration> stated_margin; ///< other than 21 % of the time-out, and a tick at least
    duration notice{};                     ///< a lease counts as ended so long before its end
    duration timeout{};                    ///< of the session

    /// How long after a request's answer another has to be sent for the first to count. Unless it is stated, or a tick
    /// is longer, it is as long as the shortest time between heartbeats that are a quarter of the time-out apart.
    [[nodiscard]] duration margin() const noexcept;
    /// How many heartbeats, n, come in a margin: each confirms the one that came n before it. As few as fit.
    [[nodiscard]] std::int64_t in_a_margin() const noexcept { return beats().in_a_margin; }
    /// The longest time between heartbeats: a quarter of the time-out, or what fits, if the margin is at most 85 % of
    /// that. Else n of them take a margin and 15 % of an interval.
    [[nodiscard]] duration interval() const noexcept { return beats().interval; }
    /// How much sooner than that a heartbeat may come, by chance, lest those of many clients go on coming together that
    /// did so once. It is 15 % of the interval for n of them together, which still last for a margin.
    [[nodiscard]] duration earliness() const noexcept { return beats().earliness; }
    /// How much of the time-out is certain by our clock, if nothing else is taken from it.
    [[nodiscard]] duration sure() const noexcept;
    /// What is left for heartbeats.
    [[nodiscard]] duration rest() const noexcept { return sure() - margin() - notice; }
    /// What is left of a lease when a heartbeat falls due, if every one is answered.
    [[nodiscard]] duration remainder() const noexcept { return sure() - (in_a_margin() + 1) * interval(); }
    /// Two heartbeats of at least 50 ms fit, or of an eighth of a shorter time-out; and of a 64th of a longer one, so
    /// that they are not many in a margin. With less, a connection that is merely slow would lose locks.
    [[nodiscard]] bool possible() const noexcept;

private:
    struct rhythm {
        std::int64_t in_a_margin;
        duration interval, earliness;
    };
    [[nodiscard]] rhythm beats() const noexcept;
};

/// How long the session is known to live, by this machine's clock. A request counts as a sign of life from when it was
/// sent, once another has been answered that was sent a margin or more after the first one's answer. Both went through
/// the leader. Then the session does not end before T after the first was sent. T is its time-out, and all of it is in
/// the leader's clock:
///
/// 1. If the leader leads: the client talks to a follower, who tells the leader which sessions it heard from with its
///    answer to each ping, and these come every half tick. The second answer shows that the two were in touch after the
///    ping that followed the first. A margin of half a tick is enough. An observer that has a follower for its master
///    (`observerMasterPort`) is two such steps away: a tick is enough.
/// 2. If it does not, and does not know: let D be when the last of those followers gave it up who then made a quorum
///    with another leader. That one begins after D, and gives each session the whole of T again, to the end of a tick.
///    So it is enough that the first was answered before D. How long after D may the old leader answer? A follower
///    gives up when it has heard nothing for `syncLimit` ticks. The leader pings when a tick begins and in its middle;
///    it looks for its quorum when a tick begins, and counts each follower until the `syncLimit` + 1st tick after the
///    one in which it heard from it has begun. The last that it heard from a follower came in the same tick as the last
///    ping that the follower has seen, at the earliest at its beginning. So it stops at D + one tick at the latest. If
///    its process is stopped meanwhile, it looks within a tick after it has gone on. With a margin of a tick, a request
///    that was sent a margin after an answer of that time finds nobody to answer it.
///
/// The margin is therefore at least a tick, for every T; a T of less than two ticks needs nothing else. If our clock is
/// fast, the margin is short by less than the lease is, which is longer. What takes longer than nothing between the
/// servers (messages, the old leader's hanging up) is paid for by the election, which waits 200 ms for further votes
/// and then brings a majority to one state.
///
/// Not covered, because the old leader then hears of the loss of its quorum later than a tick after D: its followers'
/// messages still reach it while its own are lost (for longer than the moment of the cut: there, half a tick more, less
/// the election); all of them are started again, or have their connections reset, while it is cut off, so that they do
/// not wait for `syncLimit`; its process is stopped for a margin or more after D, having answered after D already; the
/// servers have different ticks or limits. Only leases renewed by what a quorum commits would cover these: a write for
/// each heartbeat.
///
/// A new session, in contrast, is known to the leader at once. One that is taken up again is not: a leader that slept
/// while others took over confirms it in the moment before it notices.
///
/// So only writes that were done count, and syncs. All else a follower or an observer answers by itself, also when it
/// has lost its leader, who may have ended the session meanwhile: reads; watches that are set or taken back; pings and
/// credentials; a session's end where the secret is wrong; what it throttles (-127); and, with `enableEagerACLCheck`,
/// what an access list forbids or is wrong in. A leader does the same when others have replaced it. Nor does a sync's
/// answer say that the leader knows the session: it does not look.
///
/// With `localSessionsEnabled` a server also begins sessions by itself, takes them up again, and counts their time,
/// until the first ephemeral node makes them known to the leader. The lease of such a session is counted as of any
/// other, and holds: nothing is granted without an ephemeral node, and the leader counts the whole of T from that one's
/// create, before which all was sent that has counted so far. (What such a server still has of a session that others
/// have called ended may be done later, a create too. The node is nobody's then, and goes after T.)
class lease {
public:
    using time_point = lease_clock::time_point;
    using duration = lease_clock::duration;

    /// Makes a lease for sessions of any time-out: `times.timeout` does not count.
    explicit lease(const lease_times& times);

    /// A session with this time-out is there. The span of an earlier one ends.
    void open(duration session_timeout);
    /// The session came into being after `sent`, and the leader knows it. The lease is taken to be a margin shorter, so
    /// that from the first moment on holders hear of its end at least a margin before it. It is by less,
    /// if otherwise less than half of the rest would be left when the first heartbeat counts.
    void opened(time_point sent, time_point now);
    /// The leader knows that the session lived at `sent`.
    void confirmed(time_point sent, time_point now);
    /// Something sent at `sent` was answered just now, through the leader. Calls come in the order of both times.
    void answered(time_point sent, time_point now);
    /// The session is over, or no longer ours to use.
    void end() noexcept;

    /// Whether what was granted in span() is held.
    [[nodiscard]] bool fresh(time_point now) const noexcept { return now < ends(); }
    /// Whether a grant may be given now, in span(): the lease is fresh, and can be renewed in time if the servers go on
    /// answering. After an outage it is neither for a margin, though they are back: what was granted then would be
    /// lost.
    [[nodiscard]] bool renewable(time_point now) const noexcept;
    /// It has ended, and end() was not called.
    [[nodiscard]] bool lapsed(time_point now) const noexcept { return span_->until() != time_point{} && !fresh(now); }
    /// When fresh() turns false, if nothing is answered before.
    [[nodiscard]] time_point ends() const noexcept { return span_->until() - times_.notice; }
    [[nodiscard]] const std::shared_ptr<const lease_span>& span() const noexcept { return shown_; }
    /// The times of the present session.
    [[nodiscard]] const lease_times& times() const noexcept { return times_; }
    /// When to ask again, to keep it fresh: whatever else is asked meanwhile may come too early to count. Sooner than
    /// planned if it would end before, or is not there.
    [[nodiscard]] time_point next_heartbeat() const noexcept;
    /// `chance`, from 0 to 1: by how much of the earliness the next ones come before the interval is over, until a
    /// margin has passed. Were it another for each of many, they would make up for each other.
    void heartbeat_answered(time_point sent, time_point now, double chance) noexcept;

private:
    struct exchange {
        time_point sent;
        time_point answered;
    };

    void begin_span();
    void heard(time_point now) noexcept;
    [[nodiscard]] time_point when_one_counts(time_point due) const noexcept;
    [[nodiscard]] time_point soonest_renewal() const noexcept;
    /// When an answered request begins to count, once another is sent then or later; and to when the lease lasts by it.
    [[nodiscard]] time_point counts_from(const exchange& e) const noexcept { return e.answered + margin_; }
    [[nodiscard]] time_point lasts_by(const exchange& e) const noexcept { return e.sent + sure_ - times_.notice; }
    /// For the answer of the heartbeat that renews it.
    [[nodiscard]] duration in_time() const noexcept { return interval_ / 4; }

    lease_times times_;
    duration margin_{}, interval_{}, earliness_{}, sure_{}; ///< of these, worked out once
    std::int64_t in_a_margin_ = 1;                          ///< likewise
    time_point last_beat_{};                                ///< what the next is counted from
    time_point beat_sent_{};                                ///< the last that was answered
    duration early_{};                                      ///< that it comes before an interval is over
    time_point next_chance_{};                              ///< is taken then
    std::deque<exchange> uncounted_;                        ///< by the leader, for all we know; some way apart
    bool ended_ = false;                                    ///< the span: another begins with the next sign of life
    std::shared_ptr<lease_span> span_;
    std::shared_ptr<const lease_span> shown_;
};

/// The lease as a holder keeps it. It is set before the caller hears of the grant, and not changed after. From then on
/// its functions may be called from any thread.
struct held_lease {
    std::shared_ptr<const lease_span> span;
    lease::duration notice{};
    lease::time_point since{}; ///< the grant

    [[nodiscard]] bool lasts(lease::time_point now) const noexcept { return now < span->until() - notice; }
    /// How the holder loses what it holds, if nothing else has happened.
    [[nodiscard]] std::optional<lock_loss> loss(lease::time_point now) const noexcept
    {
        if (lasts(now))
            return std::nullopt;
        return lock_loss{loss_reason::lease_ended, now - since, now - span->heard()};
    }
};

} // namespace zklock::recipes
