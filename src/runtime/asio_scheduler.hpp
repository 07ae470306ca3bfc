#pragma once
#include "runtime/strand.hpp"
#include "runtime/turns.hpp"
#include "store/scheduler.hpp"

#include <memory>

namespace zklock::runtime {

/// The scheduler of a client: any number of deadlines on the lease clock, served by one Asio timer.
class asio_scheduler final : public store::scheduler {
public:
    /// What is posted in a turn runs at its end.
    explicit asio_scheduler(const strand&, const std::shared_ptr<turns>& = std::make_shared<turns>());
    ~asio_scheduler() override; ///< on the strand; drops what is pending

    asio_scheduler(const asio_scheduler&) = delete;
    asio_scheduler& operator=(const asio_scheduler&) = delete;

    [[nodiscard]] time_point now() const override;
    [[nodiscard]] timer_id call_at(time_point when, std::function<void()> f) override;
    void cancel(timer_id id) override;
    void post(store::unique_function<void()> f) override;

    /// The execution context is going away: drops the timer and every pending function, and uses no executor again.
    void shutdown();
    /// The clock was moved: looks at what is due, later.
    void look_again();
    /// When something is due next; the end of time if nothing is.
    [[nodiscard]] time_point next() const noexcept;

private:
    class state;
    std::shared_ptr<state> state_;
};

} // namespace zklock::runtime
