#pragma once
#include "store/scheduler.hpp"
#include "world.hpp"

#include <deque>
#include <unordered_map>

namespace zklock::simulator {

/// One client process: one thread that runs what is ready in turn, a clock of its own that drifts, and the whole of it
/// may stand still for a while. It never goes away before the world, so that whatever is under way may name it.
class process final : public store::scheduler {
public:
    process(world& w, unsigned number, std::int32_t drift_ppm);

    [[nodiscard]] time_point now() const override { return local(world_.time.now()); }
    [[nodiscard]] timer_id call_at(time_point when, std::function<void()> f) override;
    void cancel(timer_id id) override { timers_.erase(id); }
    void post(store::unique_function<void()> f) override;

    void pause(instant duration); ///< SIGSTOP, and SIGCONT later
    void kill();                  ///< nothing runs in it any more
    [[nodiscard]] bool dead() const noexcept { return dead_; }
    [[nodiscard]] instant paused_until() const noexcept { return paused_until_; }
    /// Whether what is running was put in line after the last pause began, so that no pause delayed it.
    [[nodiscard]] bool runs_undelayed() const noexcept { return taken_ > posted_before_pause_; }

    [[nodiscard]] time_point local(instant true_time) const;
    [[nodiscard]] instant true_time(time_point local_time) const;

private:
    void turn();
    void want_turn(instant when);

    world& world_;
    unsigned number_;
    std::int64_t rate_ppm_; ///< of its clock, a million is right
    instant offset_;
    instant paused_until_{0};
    bool dead_ = false;
    bool turn_wanted_ = false;
    std::uint64_t posted_ = 0;
    std::uint64_t taken_ = 0;
    std::uint64_t posted_before_pause_ = 0;
    std::deque<store::unique_function<void()>> ready_;
    std::unordered_map<timer_id, std::function<void()>> timers_;
    timer_id last_timer_ = 0;
};

} // namespace zklock::simulator
