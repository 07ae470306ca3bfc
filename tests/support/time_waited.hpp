#pragma once
#include "support/polling.hpp"

namespace zklock::test {

/// How long the calling thread has waited since this was made: for a socket, a lock, a time, and not for a processor.
/// So what other programs take from it on a busy machine does not count, nor what its own work takes. By the kernel's
/// /proc/thread-self/schedstat; where there is none, all time counts.
class time_waited {
public:
    time_waited();

    /// On the same thread.
    [[nodiscard]] steady_clock::duration so_far() const;

private:
    steady_clock::time_point began_;
    steady_clock::duration ran_before_; ///< or was ready to run
};

} // namespace zklock::test
