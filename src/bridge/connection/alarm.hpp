#pragma once
#include "runtime/single_wait.hpp"
#include "runtime/strand.hpp"

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <optional>
#include <utility>

namespace zklock::bridge {

/// A timer that is set again and again, mostly to a later time than the one for which it waits. It is left as it is
/// then, and may ring too early.
class alarm {
public:
    using clock = std::chrono::steady_clock;

    explicit alarm(const runtime::strand& s) : timer_(std::in_place, s) {}

    [[nodiscard]] bool rings_by(clock::time_point when) const noexcept { return set_to_ && *set_to_ <= when; }
    /// Has it ring sooner than it would, once. `rings` is called on the strand, and keeps this object alive.
    template <class F> void set(clock::time_point when, F rings)
    {
        if (wait_.under_way()) { // it ends now, and is begun again
            timer_->cancel();
        } else {
            timer_->expires_at(when);
            wait_.begin([&](auto handler) { timer_->async_wait(std::move(handler)); },
                        [this, rings = std::move(rings)](const boost::system::error_code&) {
                            if (set_to_)
                                rings();
                        });
        }
        set_to_ = when;
    }
    /// It rings: to what time it was set last. Until then, it has to be set again.
    [[nodiscard]] clock::time_point rung() noexcept { return *std::exchange(set_to_, std::nullopt); }
    void cancel()
    {
        set_to_.reset();
        timer_->cancel();
    }
    /// Cancels it for good: no executor is used any more.
    void drop() noexcept
    {
        set_to_.reset();
        timer_.reset();
    }

private:
    using timer = boost::asio::basic_waitable_timer<clock, boost::asio::wait_traits<clock>, runtime::strand>;

    std::optional<timer> timer_;
    std::optional<clock::time_point> set_to_;
    runtime::single_wait wait_;
};

} // namespace zklock::bridge
