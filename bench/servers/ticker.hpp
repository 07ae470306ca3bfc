#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace zklock::bench {

/// Asks each server for something small, four times a second.
///
/// The leader of ZooKeeper 3.8.0 sometimes leaves a write of its own client unanswered, though the followers have it,
/// until any other request comes by: with a single client that waits for it, that was its time-out, 20 s later.
/// Where nobody else uses the servers, such as here, whoever happens to be measured would pay for it.
class ticker {
public:
    explicit ticker(std::vector<std::uint16_t> ports);

private:
    void tick(const std::stop_token& stop);

    std::vector<std::uint16_t> ports_;
    std::mutex mutex_;
    std::condition_variable_any stopped_;
    std::jthread thread_;
};

} // namespace zklock::bench
