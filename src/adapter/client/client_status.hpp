#pragma once
#include "runtime/forks.hpp"
#include "zklock/events.hpp"

#include <atomic>
#include <cstdint>

namespace zklock::detail {

/// What any thread may ask of a client, as its strand has told it.
class client_status {
public:
    [[nodiscard]] connection_state state() const noexcept
    {
        return is_forked() ? connection_state::closed : state_.load(std::memory_order_acquire);
    }
    [[nodiscard]] std::int64_t session_id() const noexcept
    {
        return is_forked() ? 0 : session_id_.load(std::memory_order_acquire);
    }
    /// The context is there, the session was not closed, and is this process's: what the recipes say still holds.
    [[nodiscard]] bool alive() const noexcept { return alive_.load(std::memory_order_acquire) && !is_forked(); }
    /// This is a copy in a process that was forked off after the client was opened: nobody tells it what becomes of its
    /// locks.
    [[nodiscard]] bool is_forked() const noexcept
    {
        const auto then = forks_.load(std::memory_order_relaxed);
        return then != not_opened && then != runtime::fork_count();
    }

protected:
    client_status() = default;
    ~client_status() = default;

    /// The client belongs to this process.
    void opened() noexcept { forks_.store(runtime::fork_count(), std::memory_order_relaxed); }
    void set(connection_state now) noexcept { state_.store(now, std::memory_order_release); }
    void set_session(std::int64_t id) noexcept { session_id_.store(id, std::memory_order_release); }
    /// It is alive no more.
    void ended(connection_state now) noexcept
    {
        alive_.store(false, std::memory_order_release);
        set(now);
        set_session(0);
    }

private:
    static constexpr std::uint64_t not_opened = ~std::uint64_t{0};

    std::atomic<connection_state> state_{connection_state::connecting};
    std::atomic<std::int64_t> session_id_{0};
    std::atomic<bool> alive_{true};
    std::atomic<std::uint64_t> forks_{not_opened}; // of this process, when the client was opened
};

} // namespace zklock::detail
