#include "support/time_waited.hpp"

#include <algorithm>
#include <fstream>

namespace zklock::test {

namespace {

/// How long this thread has run, or been ready to, in its life.
steady_clock::duration ran()
{
    std::chrono::nanoseconds::rep on_processor = 0, ready = 0;
    std::ifstream("/proc/thread-self/schedstat") >> on_processor >> ready;
    return std::chrono::nanoseconds(on_processor + ready);
}

} // namespace

time_waited::time_waited() : began_(steady_clock::now()), ran_before_(ran()) {}

steady_clock::duration time_waited::so_far() const
{
    const auto all = steady_clock::now() - began_;
    return std::max(steady_clock::duration::zero(), all - (ran() - ran_before_));
}

} // namespace zklock::test
