#include "recipes/lease/lease.hpp"

#include <algorithm>
#include <chrono>

namespace zklock::recipes {
namespace {

constexpr int percent_early = 15; // of an interval
constexpr int percent_at_least = 100 - percent_early;

constexpr lease_times::duration divided_up(lease_times::duration d, std::int64_t by)
{
    return (d - lease_times::duration(1)) / by + lease_times::duration(1);
}

} // namespace

lease_times::duration lease_times::margin() const noexcept
{
    const duration usual = timeout / 4 * percent_at_least / 100;
    return stated_margin.value_or(std::max(usual, tick));
}

lease_times::duration lease_times::sure() const noexcept
{
    return std::chrono::duration_cast<duration>(timeout * (1.0 - drift));
}

/// When a heartbeat falls due, the one that counts was sent n + 1 intervals before.
lease_times::rhythm lease_times::beats() const noexcept
{
    if (!possible())
        return {1, timeout / 4, timeout / 4 * percent_early / 100};
    // An interval is left. Where a tick is about a quarter of the time-out, heartbeats come a little farther apart: two
    // in a margin would be twice the work for the servers.
    const duration fits = (rest() + margin()) / 3;
    const duration usual = std::min(timeout / 4, fits);
    if (margin() <= usual * percent_at_least / 100)
        return {1, usual, usual * percent_early / 100};
    const duration farther = divided_up(margin() * 100, percent_at_least);
    if (farther <= std::min(timeout * 3 / 10, fits))
        return {1, farther, farther - margin()};
    // They take an interval, and 15 % of one, more than the margin. Half of the rest is left.
    const duration longest = std::min(timeout / 4, rest() / 2 * 100 / (100 + percent_early));
    const std::int64_t n = (margin() * 100 + longest * percent_early - duration(1)) / (longest * 100) + 1;
    const duration interval = divided_up(margin() * 100, 100 * n - percent_early);
    return {n, interval, interval - divided_up(margin(), n)};
}

bool lease_times::possible() const noexcept
{
    constexpr duration on_any_network = std::chrono::milliseconds(50);
    return rest() / 2 >= std::max({std::min(on_any_network, timeout / 8), timeout / 64, duration(1)});
}

lease::lease(const lease_times& times) : times_(times)
{
    times_.timeout = {};
    begin_span();
}

void lease::begin_span()
{
    const auto next = std::make_shared<lease_span>();
    if (span_)
        next->heard_ = span_->heard_.load();
    span_ = next;
    shown_ = span_;
    ended_ = false;
}

void lease::heard(time_point now) noexcept
{
    span_->heard_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
}

void lease::open(duration session_timeout)
{
    end();
    times_.timeout = session_timeout;
    margin_ = times_.margin();
    interval_ = times_.interval();
    earliness_ = times_.earliness();
    sure_ = times_.sure();
    in_a_margin_ = times_.in_a_margin();
    last_beat_ = beat_sent_ = {};
    early_ = {};
    next_chance_ = {};
    uncounted_.clear();
}

void lease::opened(time_point sent, time_point now)
{
    confirmed(sent - std::min(margin_, times_.rest() / 2 - in_a_margin_ * earliness_), now);
    heard(now);
    last_beat_ = {}; // a heartbeat at once: what it confirms is worth more
}

void lease::confirmed(time_point sent, time_point now)
{
    // A reader may have seen the span end: it stays ended, whatever came in too late.
    if (lapsed(now))
        end();
    const time_point until = sent + sure_;
    if (ended_)
        begin_span();
    if (until > span_->until())
        span_->until_.store(until.time_since_epoch().count(), std::memory_order_relaxed);
}

void lease::answered(time_point sent, time_point now)
{
    std::optional<time_point> counted;
    while (!uncounted_.empty() && counts_from(uncounted_.front()) <= sent) {
        counted = uncounted_.front().sent;
        uncounted_.pop_front();
    }
    if (margin_ == duration::zero())
        counted = sent;
    if (counted)
        confirmed(*counted, now);
    heard(now);
    // Many more may be answered in an interval. After an outage all are at once, and the last were sent much later.
    constexpr int remembered = 16;
    if (uncounted_.empty() || sent - uncounted_.back().sent >= std::min(margin_, interval_) / remembered)
        uncounted_.push_back({sent, now});
}

bool lease::renewable(time_point now) const noexcept
{
    // Each earlier exchange counts once a margin has passed, and carries the lease on to where the next one counts; the
    // last of them to where a request counts that is sent now.
    time_point until = ends();
    for (const exchange& earlier : uncounted_) {
        if (now + margin_ + in_time() < until)
            return true;
        if (std::max(now, counts_from(earlier)) + in_time() >= until)
            return false;
        until = std::max(until, lasts_by(earlier));
    }
    return now + margin_ + in_time() < until;
}

void lease::heartbeat_answered(time_point sent, time_point now, double chance) noexcept
{
    if (sent >= next_chance_) {
        early_ = std::chrono::duration_cast<duration>(earliness_ * chance);
        next_chance_ = sent + margin_;
    }
    // One that stands for a margin waits for its answer. Where several do, each takes its part of the waiting.
    last_beat_ = sent + (now - sent) / in_a_margin_;
    beat_sent_ = sent;
}

lease::time_point lease::next_heartbeat() const noexcept
{
    const time_point due = when_one_counts(last_beat_ + interval_ - early_);
    if (due + in_time() < ends() || !times_.possible())
        return due;
    return std::min(due, soonest_renewal());
}

/// A round trip may have taken longer than those after it: what it was for counts a little later. A heartbeat that came
/// before would be for nothing. One that comes later stays where chance has put it: by a moment that returns each
/// margin, all would come together again.
lease::time_point lease::when_one_counts(time_point due) const noexcept
{
    if (in_a_margin_ == 1 || uncounted_.empty())
        return due;
    const time_point counts = counts_from(uncounted_.front());
    return counts > due && counts - due < interval_ / 2 ? counts : due;
}

lease::time_point lease::soonest_renewal() const noexcept
{
    const auto renewed_by = [this](const exchange& earlier) {
        const time_point counts = counts_from(earlier);
        return counts > beat_sent_ ? counts : last_beat_ + in_time(); // or the last one was refused
    };
    // The last that counts before the lease ends carries it on the farthest: to where the next one counts.
    for (auto earlier = uncounted_.rbegin(); earlier != uncounted_.rend(); ++earlier)
        if (counts_from(*earlier) + in_time() < ends() && lasts_by(*earlier) > ends())
            return renewed_by(*earlier);
    // It ends before. The first that leaves time for the next one begins it anew.
    for (const exchange& earlier : uncounted_)
        if (counts_from(earlier) + std::min(margin_, interval_) + in_time() < lasts_by(earlier))
            return renewed_by(earlier);
    // What was answered, if anything, was sent too long ago to be of use.
    const bool servers_answer = !uncounted_.empty() && uncounted_.back().answered >= last_beat_;
    return servers_answer ? last_beat_ : last_beat_ + std::max(margin_, in_time());
}

void lease::end() noexcept
{
    if (span_->until() == time_point{})
        return;
    span_->until_.store(0, std::memory_order_relaxed);
    ended_ = true;
}

} // namespace zklock::recipes
