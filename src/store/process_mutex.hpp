#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>

namespace zklock::store {

/// A mutex for what one process keeps for whoever asks, from any thread. In a process that was forked off since then
/// that is nobody's: it is as it was at that moment, half changed perhaps, and the mutex may be locked by a thread that
/// is missing there.
class process_mutex {
public:
    /// How many forks lie behind this process; see runtime/forks.hpp.
    using fork_count = unsigned (*)();
    /// Null: no process is forked.
    explicit process_mutex(fork_count forks) noexcept : forks_(forks) {}

    /// This process keeps something from now on, for which the mutex is needed. Nothing happens if it does so already.
    void claim() noexcept { process_.store(here(), std::memory_order_release); }
    /// Whether it does. If not, there is nothing to be asked for or changed, and the mutex is not to be locked.
    [[nodiscard]] bool is_ours() const noexcept
    {
        const std::uint64_t process = process_.load(std::memory_order_acquire);
        return process != nobodys && process == here();
    }

    void lock() { mutex_.lock(); }
    [[nodiscard]] bool try_lock() { return mutex_.try_lock(); }
    void unlock() { mutex_.unlock(); }

private:
    static constexpr std::uint64_t nobodys = ~std::uint64_t{0};
    [[nodiscard]] std::uint64_t here() const noexcept { return forks_ ? forks_() : 0; }

    const fork_count forks_;
    std::atomic<std::uint64_t> process_{nobodys};
    std::mutex mutex_;
};

} // namespace zklock::store
