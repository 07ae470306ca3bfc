#include "process.hpp"

namespace zklock::simulator {

using stream = choices::stream;

process::process(world& w, unsigned number, std::int32_t drift_ppm)
    : world_(w), number_(number), rate_ppm_(1'000'000 + drift_ppm),
      offset_(std::chrono::hours(1 + w.choose.below(1000, stream::process, number)))
{
}

process::time_point process::local(instant true_time) const
{
    const auto ns = true_time.count();
    return time_point(offset_ + instant(ns / 1'000'000 * rate_ppm_ + ns % 1'000'000 * rate_ppm_ / 1'000'000));
}

instant process::true_time(time_point local_time) const
{
    // Far deadlines saturate: nothing of a schedule lies beyond a day.
    const auto since = std::min<instant>(local_time.time_since_epoch() - offset_, std::chrono::hours(24));
    auto guess =
        instant(static_cast<std::int64_t>(static_cast<double>(since.count()) * 1e6 / static_cast<double>(rate_ppm_)));
    while (local(guess) < time_point(offset_ + since))
        guess += instant(1);
    return guess;
}

process::timer_id process::call_at(time_point when, std::function<void()> f)
{
    const auto id = ++last_timer_;
    timers_.emplace(id, std::move(f));
    auto late = instant(0);
    if (!world_.quiet && world_.choose.one_in(8, stream::process, number_)) {
        late = std::chrono::microseconds(world_.choose.below(3'000, stream::process, number_));
    }
    const auto at = when <= now() ? world_.time.now() : true_time(when);
    world_.time.at(at + late, [this, id] {
        if (dead_ || !timers_.contains(id))
            return;
        post([this, id] {
            const auto timer = timers_.extract(id); // it may have been cancelled while it stood in line
            if (!timer.empty())
                timer.mapped()();
        });
    });
    return id;
}

void process::post(store::unique_function<void()> f)
{
    if (dead_)
        return;
    ready_.push_back(std::move(f));
    ++posted_;
    if (!turn_wanted_)
        want_turn(world_.time.now() + std::chrono::microseconds(1));
}

void process::want_turn(instant when)
{
    turn_wanted_ = true;
    world_.time.at(std::max(when, paused_until_), [this] { turn(); });
}

void process::turn()
{
    turn_wanted_ = false;
    if (dead_ || ready_.empty())
        return;
    if (world_.time.now() < paused_until_)
        return want_turn(paused_until_);
    // One at a time, so that what arrives meanwhile may find its place in between.
    auto next = std::move(ready_.front());
    ready_.pop_front();
    ++taken_;
    next();
    if (!ready_.empty() && !turn_wanted_ && !dead_)
        want_turn(world_.time.now() + std::chrono::microseconds(1));
}

void process::pause(instant duration)
{
    paused_until_ = std::max(paused_until_, world_.time.now() + duration);
    posted_before_pause_ = posted_;
}

void process::kill()
{
    dead_ = true;
    ready_.clear();
    timers_.clear();
}

} // namespace zklock::simulator
