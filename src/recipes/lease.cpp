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
    last_beat_ = {};
    uncounted_.clear();
}

void lease::opened(time_point sent, time_point now)
{
    confirmed(sent - margin(), now);
    last_beat_ = {}; // a heartbeat at once: what it confirms is worth more
}

void lease::confirmed(time_point sent, time_point now)
{
    // A reader may have seen the term end: it stays ended, whatever came in too late.
    if (lapsed(now))
        end();
    const time_point until = sent + sure();
    if (until > term_->until())
        term_->until_.store(until.time_since_epoch().count(), std::memory_order_relaxed);
}

void lease::answered(time_point sent, time_point now)
{
    std::optional<time_point> counted;
    while (!uncounted_.empty() && uncounted_.front().answered <= sent - margin()) {
        counted = uncounted_.front().sent;
        uncounted_.pop_front();
    }
    if (margin() == duration::zero())
        counted = sent;
    if (counted)
        confirmed(*counted, now);
    constexpr int remembered = 16; // in a margin; many more may be answered
    if (uncounted_.empty() || now - uncounted_.back().answered >= margin() / remembered)
        uncounted_.push_back({sent, now});
}

lease::duration lease::sure() const noexcept
{
    return std::chrono::duration_cast<duration>(timeout_ * (1.0 - drift_));
}

lease::duration lease::remainder() const noexcept
{
    return sure() - std::max(margin(), interval()) - interval();
}

void lease::end()
{
    if (term_->until() == time_point{})
        return;
    term_->until_.store(0, std::memory_order_relaxed);
    begin_term();
}

} // namespace zklock::recipes
