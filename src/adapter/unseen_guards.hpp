#pragma once
#include <atomic>
#include <bit>
#include <cstdint>
#include <string>

namespace zklock::detail {

/// Of one client: the guards that were destroyed in the turn in which they were delivered, before anybody looked.
class unseen_guards {
public:
    // From any thread.
    void count() noexcept { counted_.fetch_add(1, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t counted() const noexcept { return counted_.load(std::memory_order_relaxed); }

    /// On the strand, for each. A program that does it at one place does it each time it comes there: of the same path
    /// again, the 2nd is told, the 4th, the 8th and so on.
    [[nodiscard]] bool is_worth_telling(const std::string& path)
    {
        if (path != last_path_) {
            last_path_ = path;
            in_a_row_ = 0;
        }
        return std::has_single_bit(++in_a_row_);
    }

private:
    std::atomic<std::uint64_t> counted_{0};
    std::string last_path_;
    std::uint64_t in_a_row_ = 0;
};

} // namespace zklock::detail
