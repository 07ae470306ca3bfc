#pragma once
#include "counters/counters.hpp"
#include "zklock/errc.hpp"
#include "zklock/events.hpp"
#include "zklock/metrics.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zklock::counters {

/// The counters of the acquires of one name. The client's strand counts, any thread may read.
struct lock_counters {
    explicit lock_counters(std::string n) : name(std::move(n)) {}

    [[nodiscard]] lock_metrics read() const;

    const std::string name;
    counter acquired, timed_out, not_connected, cancelled, busy, failed, released, waiting, held;
    std::array<counter, loss_reasons> lost;
    latency_counter waits, holds;
};

/// The counters of a client, for as many names as it tells apart.
class by_name {
public:
    /// The counters of one name, which live as long as this. May be called from any thread.
    [[nodiscard]] lock_counters& of(std::string_view name);
    /// May be called from any thread.
    [[nodiscard]] std::vector<lock_metrics> read() const;

private:
    lock_counters unnamed_{""}, others_{other_locks};
    mutable std::mutex mutex_; // guards these
    bool has_others_ = false;
    std::vector<std::unique_ptr<lock_counters>> named_;
};

/// One acquire that waits, as it is counted.
class counted_wait {
public:
    void begin(lock_counters& in, lease_clock::time_point now) noexcept
    {
        in_ = &in;
        since_ = now;
        in.waiting.add();
    }
    void granted(lease_clock::time_point now) noexcept
    {
        in_->waits.add(now - since_);
        end(in_->acquired);
    }
    /// Counts how it ended, as its caller is told, unless that was counted.
    void ended(const error_code& how) noexcept;

private:
    void end(counter& as) noexcept
    {
        as.add();
        in_->waiting.subtract_one();
        in_ = nullptr;
    }

    lock_counters* in_ = nullptr; ///< while it waits
    lease_clock::time_point since_{};
};

/// What was granted, as it is counted.
class counted_hold {
public:
    void begin(lock_counters& in, lease_clock::time_point now) noexcept
    {
        in_ = &in;
        since_ = now;
        in.held.add();
    }
    /// It has begun, and its end was not counted.
    [[nodiscard]] bool counts() const noexcept { return in_ != nullptr; }
    // The next two do nothing unless it counts.
    void released(lease_clock::time_point now) noexcept
    {
        if (in_)
            end(in_->released, now);
    }
    void lost(loss_reason why, lease_clock::time_point now) noexcept
    {
        if (in_)
            end(in_->lost[static_cast<std::size_t>(why)], now);
    }

private:
    void end(counter& as, lease_clock::time_point now) noexcept
    {
        as.add();
        in_->holds.add(now - since_);
        in_->held.subtract_one();
        in_ = nullptr;
    }

    lock_counters* in_ = nullptr; ///< while it is held
    lease_clock::time_point since_{};
};

/// A hold that was given back at some time: it counts as released then, or as lost if the answer to its release says
/// so. It counts as released, too, if there is no answer.
class counted_release {
public:
    /// That hold will not be counted by `what` any more.
    counted_release(counted_hold& what, lease_clock::time_point at) noexcept
        : hold_(std::exchange(what, counted_hold())), at_(at)
    {
    }
    counted_release(counted_release&& other) noexcept
        : hold_(std::exchange(other.hold_, counted_hold())), at_(other.at_)
    {
    }
    counted_release& operator=(counted_release&&) = delete;
    ~counted_release() { hold_.released(at_); }

    /// False if its end was counted before.
    [[nodiscard]] bool counts() const noexcept { return hold_.counts(); }
    void ended(const error_code& how) noexcept
    {
        if (how == errc::lost)
            hold_.lost(loss_reason::node_deleted, at_);
        hold_.released(at_);
    }

private:
    counted_hold hold_;
    lease_clock::time_point at_;
};

} // namespace zklock::counters
