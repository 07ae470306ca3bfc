#include "zklock/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace zklock {

static_assert(loss_reasons == static_cast<std::size_t>(loss_reason::forked) + 1);

std::uint64_t latency_histogram::count() const noexcept
{
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::chrono::nanoseconds latency_histogram::quantile(double q) const noexcept
{
    const std::uint64_t all = count();
    if (all == 0)
        return {};
    const double rank = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(all));
    std::uint64_t below = 0;
    std::size_t bucket = 0;
    for (; bucket + 1 < buckets; ++bucket) {
        below += counts[bucket];
        if (below != 0 && static_cast<double>(below) >= rank)
            break;
    }
    return longest(bucket);
}

latency_histogram& latency_histogram::operator+=(const latency_histogram& more) noexcept
{
    for (std::size_t i = 0; i < buckets; ++i)
        counts[i] += more.counts[i];
    sum += more.sum;
    return *this;
}

std::uint64_t lock_metrics::lost() const noexcept
{
    return std::accumulate(lost_by.begin(), lost_by.end(), std::uint64_t{0});
}

lock_metrics& lock_metrics::operator+=(const lock_metrics& more) noexcept
{
    for (const auto number : {&lock_metrics::acquired, &lock_metrics::timed_out, &lock_metrics::not_connected,
                              &lock_metrics::cancelled, &lock_metrics::busy, &lock_metrics::failed,
                              &lock_metrics::released, &lock_metrics::waiting, &lock_metrics::held})
        this->*number += more.*number;
    for (std::size_t i = 0; i < loss_reasons; ++i)
        lost_by[i] += more.lost_by[i];
    waits += more.waits;
    holds += more.holds;
    return *this;
}

} // namespace zklock
