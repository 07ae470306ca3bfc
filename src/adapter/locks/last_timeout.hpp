#pragma once
#include "recipes/acquisition/acquisition.hpp"
#include "zklock/errc.hpp"
#include "zklock/events.hpp"

#include <memory>
#include <mutex>

namespace zklock::detail {

class client_state;
class lock_target;

/// What the last acquire of one lock that ended at its deadline has waited for. Any thread may call.
class last_timeout {
public:
    void set(std::shared_ptr<const wait_report> report) noexcept
    {
        const std::lock_guard locked(mutex_);
        report_.swap(report);
    }
    [[nodiscard]] std::shared_ptr<const wait_report> get() const noexcept
    {
        const std::lock_guard locked(mutex_);
        return report_;
    }

private:
    mutable std::mutex mutex_;
    std::shared_ptr<const wait_report> report_;
};

/// An acquire of that lock has ended at its deadline, with `how`: keeps what it has waited for, and has the log tell.
/// To be called on the strand.
void note_timeout(client_state&, const lock_target&, recipes::acquisition&, const error_code& how,
                  lease_clock::duration waited);

} // namespace zklock::detail
