#pragma once
#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace zklock::test {

/// Threads that do something again and again, while others work, until they are stopped.
class busy_threads {
public:
    busy_threads(std::size_t count, const std::function<void()>& again)
    {
        for (std::size_t i = 0; i < count; ++i)
            threads_.emplace_back([this, again] {
                while (!stopped_) {
                    again();
                    ++rounds_;
                }
            });
    }
    ~busy_threads() { stop(); }
    busy_threads(const busy_threads&) = delete;
    busy_threads& operator=(const busy_threads&) = delete;

    /// How often it has been done.
    [[nodiscard]] long rounds() const { return rounds_; }
    void stop()
    {
        stopped_ = true;
        for (std::thread& each : threads_)
            if (each.joinable())
                each.join();
    }

private:
    std::atomic<bool> stopped_ = false;
    std::atomic<long> rounds_ = 0;
    std::vector<std::thread> threads_;
};

} // namespace zklock::test
