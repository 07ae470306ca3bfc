#pragma once
#include "runtime/strand.hpp"
#include "runtime/turns.hpp"
#include "store/scheduler.hpp"

#include <memory>

namespace zklock::runtime {

/// The scheduler of a client: any number of deadlines on the lease clock, served by one Asio timer.
class asio_scheduler : public store::scheduler {
public:
    /// What is posted in a turn runs at its end. It is stopped when the last pointer goes, on the strand; what is under
    /// way may keep it in memory for a while.
    [[nodiscard]] static std::shared_ptr<asio_scheduler>
    make(const strand&, const std::shared_ptr<turns>& = std::make_shared<turns>());

    /// The execution context is going away: drops the timer and every pending function, and uses no executor again.
    virtual void stop() = 0;
    /// The clock was moved: looks at what is due, later.
    virtual void look_again() = 0;
    /// When something is due next; the end of time if nothing is.
    [[nodiscard]] virtual time_point next() const noexcept = 0;
};

} // namespace zklock::runtime
