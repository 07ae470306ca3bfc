#pragma once
#include "recipes/lease/lease.hpp"
#include "recipes/session/session.hpp"
#include "zklock/events.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

namespace zklock::recipes {

/// How far one acquire has come: it waits, holds what it was granted, has lost that, or is done. Changed on the strand.
///
/// Thread safety: after a grant, the functions that take a time and held_until() may be called from any thread. What
/// they tell is set before the state says so, and not changed after.
class grant_state {
public:
    using time_point = store::scheduler::time_point;

    [[nodiscard]] bool waiting() const noexcept { return now_ == state::waiting; }
    [[nodiscard]] bool holding() const noexcept { return now_ == state::held; }
    [[nodiscard]] bool lost() const noexcept { return now_ == state::lost; }
    /// It has waited in vain, or has given back what it held.
    [[nodiscard]] bool done() const noexcept { return now_ == state::done; }

    /// To be called once, at the grant.
    void grant(held_lease lease) noexcept
    {
        lease_ = std::move(lease);
        now_ = state::held;
    }
    void end() noexcept { now_ = state::done; }
    /// To be called only while it holds.
    void lose(const lock_loss& how) noexcept
    {
        loss_ = how;
        now_ = state::lost;
    }
    /// The client goes away: what is held is lost.
    void close(session& s) noexcept
    {
        if (!holding())
            return;
        lock_loss how = s.losses().of(lease_.since);
        how.reason = loss_reason::client_closed;
        lose(how);
    }

    /// The lease under which it was granted.
    [[nodiscard]] const held_lease& lease() const noexcept { return lease_; }
    [[nodiscard]] bool held(time_point now) const noexcept { return holding() && lease_.lasts(now); }
    /// How it was lost, if it was, or is being lost unnoticed.
    [[nodiscard]] std::optional<lock_loss> loss(time_point now) const noexcept
    {
        switch (now_) {
        case state::held: return lease_.loss(now);
        case state::lost: return loss_;
        default: return std::nullopt;
        }
    }
    /// The end of the lease; long past once it is lost.
    [[nodiscard]] time_point held_until() const noexcept { return lost() ? time_point{} : lease_.span->until(); }

private:
    enum class state : std::uint8_t { waiting, held, lost, done };

    held_lease lease_;
    lock_loss loss_;
    std::atomic<state> now_{state::waiting};
};

} // namespace zklock::recipes
