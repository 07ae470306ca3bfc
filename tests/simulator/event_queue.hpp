#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace zklock::simulator {

/// True time of the simulated world, since its beginning. No process of that world can read it.
using instant = std::chrono::nanoseconds;

/// Virtual time: it jumps from one event to the next. Events of the same instant run in the order of their making.
class event_queue {
public:
    [[nodiscard]] instant now() const noexcept { return now_; }
    [[nodiscard]] std::uint64_t executed() const noexcept { return executed_; }

    void at(instant when, std::function<void()> f)
    {
        if (free_.empty()) {
            free_.push_back(functions_.size());
            functions_.emplace_back();
        }
        functions_[free_.back()] = std::move(f);
        heap_.push_back({std::max(when, now_), made_++, free_.back()});
        free_.pop_back();
        std::push_heap(heap_.begin(), heap_.end(), later);
    }

    void after(instant delay, std::function<void()> f) { at(now_ + delay, std::move(f)); }

    /// Runs the next event unless it lies beyond `limit`; false if there was none to run.
    bool step(instant limit)
    {
        if (heap_.empty() || heap_.front().when > limit)
            return false;
        std::pop_heap(heap_.begin(), heap_.end(), later);
        const auto next = heap_.back();
        heap_.pop_back();
        now_ = next.when;
        ++executed_;
        const auto run = std::exchange(functions_[next.function], nullptr);
        free_.push_back(next.function);
        run();
        return true;
    }

private:
    struct event {
        instant when;
        std::uint64_t order;
        std::size_t function; ///< where it stands: the heap moves its events often, and a function is large
    };
    static bool later(const event& a, const event& b) { return a.when != b.when ? a.when > b.when : a.order > b.order; }

    std::vector<event> heap_;
    std::vector<std::function<void()>> functions_;
    std::vector<std::size_t> free_; ///< places in functions_
    instant now_{0};
    std::uint64_t made_ = 0;
    std::uint64_t executed_ = 0;
};

} // namespace zklock::simulator
