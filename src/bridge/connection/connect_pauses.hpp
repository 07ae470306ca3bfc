#pragma once
#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

namespace zklock::bridge {

/// How long to pause before the next cycle. That is drawn by chance, so that the clients that a server has lost in one
/// moment do not come back in one. The first pause spreads them over all of its length. The later ones keep them apart,
/// and may each be twice as long.
class connect_pauses {
public:
    using duration = std::chrono::steady_clock::duration;

    connect_pauses(std::chrono::milliseconds first, std::chrono::milliseconds longest)
        : first_(std::min<std::chrono::milliseconds>(first, longest_of_all)),
          longest_(std::min<std::chrono::milliseconds>(longest, longest_of_all))
    {
    }

    void begin_anew() noexcept
    {
        next_ = first_;
        has_paused_ = false;
    }
    /// `limit`: no longer than that.
    template <class Random> [[nodiscard]] duration next(duration limit, Random& random)
    {
        const duration longest = std::min(std::exchange(next_, std::min(next_ * 2, longest_)), limit);
        const double least = std::exchange(has_paused_, true) ? 2.0 / 3 : 0.0;
        return std::chrono::duration_cast<duration>(longest * std::uniform_real_distribution<>{least, 1.0}(random));
    }

private:
    // Nobody waits longer, and what is longer need not fit the clock.
    static constexpr std::chrono::hours longest_of_all{24};

    const duration first_;
    const duration longest_;
    duration next_ = first_; ///< at most
    bool has_paused_ = false;
};

} // namespace zklock::bridge
