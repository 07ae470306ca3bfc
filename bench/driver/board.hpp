#pragma once
#include "driver/driver.hpp"

#include <atomic>
#include <optional>

namespace zklock::bench {

/// What the processes that want one lock share: a file in their memory, made by the harness. It tells when they start
/// together, and who released the lock last, and when, by a clock that all processes read alike. After the start, the
/// holder alone writes.
class board {
public:
    explicit board(const request& asked); ///< `board`, the file; `process`, which of them this is
    ~board();
    board(const board&) = delete;
    board& operator=(const board&) = delete;

    [[nodiscard]] steady_clock::time_point start() const;

    /// The lock was granted to this process: how long after its release in another one. Nothing if this process, or
    /// nobody, had it before.
    [[nodiscard]] std::optional<steady_clock::duration> granted(steady_clock::time_point now) const;
    void releasing(); ///< right before the lock is given back

private:
    struct words {
        std::atomic<std::int64_t> start, released; ///< nanoseconds of the clock
        std::atomic<std::int64_t> holder;          ///< the process that released, from 1; 0 before that
    };
    static_assert(std::atomic<std::int64_t>::is_always_lock_free);

    words* words_;
    std::int64_t self_;
};

/// How many contenders a process has: one for `handoff`, its share of `waiters` for `crowd`.
inline std::int64_t contenders_apart(const request& asked)
{
    return asked.workload == "handoff" ? 1 : asked.number("waiters") / asked.number("processes");
}

/// What one of those processes found: what counts until the end of the time that is measured, and how many operations
/// there were until nobody of it wanted the lock any more, as the servers' counters include them.
class tally {
public:
    explicit tally(const request& asked) : handoffs_(asked.workload == "handoff") {}

    void begin(steady_clock::time_point start, std::chrono::milliseconds time);
    void granted(steady_clock::time_point asked_at, steady_clock::time_point now,
                 std::optional<steady_clock::duration> since_release);
    [[nodiscard]] bool over() const { return steady_clock::now() >= end_; }
    [[nodiscard]] steady_clock::time_point end() const { return end_; }
    [[nodiscard]] report take();

private:
    bool handoffs_; ///< that a process follows another one is an operation, not every grant
    steady_clock::time_point start_, end_;
    report found_;
    std::uint64_t passed_on_ = 0, grants_ = 0, all_ = 0;
};

} // namespace zklock::bench
