#include "recipes/lease.hpp"

#include <algorithm>

namespace zklock::recipes {

lease::lease(double drift, std::optional<duration> margin, duration notice)
    : drift_(drift), margin_(margin), notice_(notice)
{
    begin_term();
}

void lease::begin_term()
{
    term_ = std::make_shared<lease_term>();
    shown_ = term_;
}

void lease::open(duration session_timeout)
{
    end();
    timeout_ = session_timeout;
    last_answered_ = {};
}

void lease::answered(time_point sent, time_point now)
{
    last_answered_ = std::max(last_answered_, sent);
    // A reader may have seen the term end: it stays ended, whatever came in too late.
    if (term_->until() != time_point{} && !fresh(now))
        end();
    const time_point until = last_answered_ + length();
    if (until > term_->until())
        term_->until_.store(until.time_since_epoch().count(), std::memory_order_relaxed);
}

lease::duration lease::length() const noexcept
{
    const auto sure = std::chrono::duration_cast<duration>(timeout_ * (1.0 - drift_));
    return sure - margin_.value_or(timeout_ / 4);
}

void lease::end()
{
    if (term_->until() == time_point{})
        return;
    term_->until_.store(0, std::memory_order_relaxed);
    begin_term();
}

} // namespace zklock::recipes
