#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace zklock::bench {

/// What clients send to a server, by intervals of 100 ms: how often they connect, and how many requests there are. May
/// be used from any thread.
class traffic {
public:
    struct interval {
        std::uint64_t connects = 0;
        std::uint64_t requests = 0;
    };
    using clock = std::chrono::steady_clock;

    void begin(); ///< from now on; what was counted is forgotten
    void connected();
    void requested(std::uint64_t count);

    [[nodiscard]] std::chrono::milliseconds elapsed() const;
    [[nodiscard]] std::vector<interval> intervals() const; ///< since begin(), up to now

private:
    interval& now();

    mutable std::mutex mutex_;
    clock::time_point start_ = clock::now();
    std::vector<interval> intervals_;
};

/// Counts requests of one connection among its bytes, which may be cut anywhere. The first frame, which asks for a
/// session, belongs to the connect and is not counted.
class request_counter {
public:
    /// How many begin in these bytes.
    std::uint64_t count(std::span<const char> bytes);

private:
    bool first_ = true;
    std::size_t length_bytes_ = 0; ///< of the next frame's length
    std::uint32_t left_ = 0;       ///< of the frame, as far as its length is known
};

} // namespace zklock::bench
