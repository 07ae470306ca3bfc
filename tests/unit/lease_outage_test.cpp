// What is granted after an outage is kept while the servers answer, whatever else the client asks of them.
#include "recipes/lease/lease.hpp"
#include "support/sanitized.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace std::chrono_literals;
using zklock::lease_clock;
using zklock::recipes::lease;
using zklock::recipes::lease_times;

namespace {

using duration = lease::duration;
using instant = lease::time_point;

/// A client with a heartbeat and other requests, at times drawn from a seed. The connection is silent from `cut` to
/// `mended`, and slow until `calm`. A lock is granted then, or as soon after that as it may be.
class client_in_outage {
public:
    client_in_outage(const lease_times& times, duration round_trip, std::uint32_t seed)
        : lease_(times), round_trip_(round_trip), random_(seed), timeout_(times.timeout)
    {
        lease_.open(timeout_);
        lease_.opened(now_, now_ + round_trip_);
        now_ += round_trip_;
        cut_ = now_ + timeout_ * 2 + part_of(2 * timeout_);
        mended_ = cut_ + timeout_ / 5 + part_of(timeout_ * 4 / 5);
        calm_ = mended_ + part_of(times.margin());
        constexpr int most[] = {0, 0, 2, 10, 50}; // others in a time-out
        if (const int others = most[random_() % 5]; others != 0)
            between_others_ = timeout_ / others;
        other_ = next_other();
        plan_beat();
    }

    [[nodiscard]] instant calm() const noexcept { return calm_; }
    /// When the lock was lost, if it was.
    [[nodiscard]] std::optional<instant> lost()
    {
        const instant end = calm_ + 4 * timeout_;
        while (true) {
            const instant answer = under_way_.empty() ? instant::max() : under_way_.front().answered;
            now_ = std::min({beat_, answer, other_, now_ < calm_ ? calm_ : end});
            if (granted_ && !lease_.fresh(now_))
                return now_;
            if (now_ == end)
                return {};
            if (now_ == answer) {
                hear();
            } else if (now_ == beat_) {
                beat();
            } else if (now_ == other_) {
                send(false);
                other_ = next_other();
            }
            if (now_ >= calm_ && !granted_ && lease_.renewable(now_)) {
                granted_ = now_;
                if (beat_ != instant::max()) // none is under way
                    beat_ = std::min(beat_, std::max(now_, lease_.next_heartbeat()));
            }
        }
    }
    [[nodiscard]] std::optional<instant> granted() const noexcept { return granted_; }

private:
    struct request {
        instant sent, answered;
        bool beat;
    };

    [[nodiscard]] double chance() { return static_cast<double>(random_()) / static_cast<double>(random_.max()); }
    [[nodiscard]] duration part_of(duration d) { return std::chrono::duration_cast<duration>(d * chance()); }
    [[nodiscard]] instant next_other()
    {
        return between_others_ ? now_ + part_of(2 * *between_others_) + 1ns : instant::max();
    }
    /// Later answers do not move it, only a grant, as in the library.
    void plan_beat() { beat_ = std::max(now_, lease_.next_heartbeat()); }
    void beat()
    {
        if (now_ < lease_.next_heartbeat())
            return plan_beat();
        beat_ = instant::max();
        send(true);
    }
    void send(bool beat)
    {
        instant answered = now_ + part_of(round_trip_);
        if (answered >= cut_ && answered < calm_)
            answered = std::max(answered, mended_ + part_of(calm_ - mended_));
        if (!under_way_.empty())
            answered = std::max(answered, under_way_.back().answered);
        under_way_.push_back({now_, answered, beat});
    }
    void hear()
    {
        const request r = under_way_.front();
        under_way_.pop_front();
        lease_.answered(r.sent, now_);
        if (r.beat) {
            lease_.heartbeat_answered(r.sent, now_, chance());
            plan_beat();
        }
    }

    lease lease_;
    duration round_trip_; ///< at most
    std::mt19937 random_;
    duration timeout_;
    instant now_{1000s}, cut_, mended_, calm_, other_, beat_;
    std::optional<duration> between_others_; ///< in the mean
    std::deque<request> under_way_;
    std::optional<instant> granted_;
};

} // namespace

TEST_CASE("granted after an outage, with other requests under way, is kept")
{
    constexpr std::size_t outages = zklock::test::scaled(5000);
    struct surroundings {
        lease_times times;
        duration round_trip;
    };
    for (const auto& [times, round_trip] :
         {surroundings{{0.01, 2s, {}, 0s, 10s}, 150ms}, surroundings{{0.01, 2s, {}, 0s, 10s}, 300ms},
          surroundings{{0.01, 2s, {}, 0s, 8s}, 20ms}, surroundings{{0.01, 250ms, 250ms, 0s, 1s}, 10ms},
          surroundings{{0.01, 2s, 1ms, 0s, 10s}, 167ms}, surroundings{{0.01, 666ms, {}, 0s, 2s}, 40ms},
          surroundings{{0.01, 2s, {}, 0s, 6s}, 100ms}, surroundings{{0.0, 500ms, {}, 0s, 4s}, 60ms}}) {
        CAPTURE(times.timeout.count());
        CAPTURE(round_trip.count());
        const auto between = std::max(times.margin(), times.interval() / 4); // heartbeats in haste, at most
        int lost = 0;
        std::size_t granted = 0;
        for (std::uint32_t seed = 1; seed <= outages; ++seed) {
            client_in_outage client(times, round_trip, seed);
            lost += client.lost() ? 1 : 0;
            // It needs a margin and two round trips, and as much again where the first came too late.
            granted += client.granted() && *client.granted() <= client.calm() + 2 * (between + 2 * round_trip);
        }
        CHECK(lost == 0);
        CHECK(granted == outages);
    }
}
