#pragma once
#include "zklock/as_result.hpp"
#include "zklock/contender.hpp"
#include "zklock/lease_clock.hpp"
#include "zklock/result.hpp"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

// What the public templates call: compiled functions that take a handler with its type erased. Each takes its state by
// value and lets go of it before the operation ends, so that a pending operation is no handle to the client.

namespace zklock {
class guard;
}

namespace zklock::detail {

class client_handle; ///< what clients and mutexes share: the client closes when the last one goes
class mutex_state;
class guard_state;
class client_state;

using void_handler = asio::any_completion_handler<void(error_code)>;
using guard_handler = asio::any_completion_handler<void(error_code, guard)>;
using contenders_handler = asio::any_completion_handler<void(error_code, std::vector<contender>)>;

enum class acquire_mode : std::uint8_t { wait, try_once };

void start_wait_connected(std::shared_ptr<client_handle>, lease_clock::duration timeout, void_handler);
void start_close(std::shared_ptr<client_handle>, void_handler);
void start_acquire(std::shared_ptr<mutex_state>, acquire_mode, std::optional<lease_clock::duration> timeout,
                   guard_handler);
void start_contenders(std::shared_ptr<mutex_state>, contenders_handler);
void start_release(std::shared_ptr<guard_state>, void_handler);
/// `owner` is null for an empty guard; the guard itself may be gone by the time the wait starts.
void start_wait_lost(std::weak_ptr<guard_state>, std::shared_ptr<client_state> owner, void_handler);

[[nodiscard]] asio::any_io_executor executor_of(const std::shared_ptr<client_handle>&);
[[nodiscard]] asio::any_io_executor executor_of(const std::shared_ptr<mutex_state>&);
[[nodiscard]] asio::any_io_executor executor_of(const std::shared_ptr<guard_state>&);
[[nodiscard]] asio::any_io_executor executor_of(const std::shared_ptr<client_state>&);
[[nodiscard]] std::shared_ptr<client_state> client_of(const std::shared_ptr<guard_state>&) noexcept;

// The initiations. Lazy tokens (deferred, use_awaitable) keep one until the operation is started; run as an rvalue it
// gives its state away, and so holds nothing while the operation is pending.

class initiate_wait_connected {
public:
    using executor_type = asio::any_io_executor;
    initiate_wait_connected(std::shared_ptr<client_handle> client, lease_clock::duration timeout)
        : client_(std::move(client)), timeout_(timeout)
    {
    }
    [[nodiscard]] executor_type get_executor() const { return executor_of(client_); }

    template <class Handler> void operator()(Handler&& handler) &&
    {
        start_wait_connected(std::move(client_), timeout_, std::forward<Handler>(handler));
    }
    template <class Handler> void operator()(Handler&& handler) const&
    {
        start_wait_connected(client_, timeout_, std::forward<Handler>(handler));
    }

private:
    std::shared_ptr<client_handle> client_;
    lease_clock::duration timeout_;
};

class initiate_close {
public:
    using executor_type = asio::any_io_executor;
    explicit initiate_close(std::shared_ptr<client_handle> client) : client_(std::move(client)) {}
    [[nodiscard]] executor_type get_executor() const { return executor_of(client_); }

    template <class Handler> void operator()(Handler&& handler) &&
    {
        start_close(std::move(client_), std::forward<Handler>(handler));
    }
    template <class Handler> void operator()(Handler&& handler) const&
    {
        start_close(client_, std::forward<Handler>(handler));
    }

private:
    std::shared_ptr<client_handle> client_;
};

class initiate_acquire {
public:
    using executor_type = asio::any_io_executor;
    initiate_acquire(std::shared_ptr<mutex_state> mutex, acquire_mode mode,
                     std::optional<lease_clock::duration> timeout)
        : mutex_(std::move(mutex)), mode_(mode), timeout_(timeout)
    {
    }
    [[nodiscard]] executor_type get_executor() const { return executor_of(mutex_); }

    template <class Handler> void operator()(Handler&& handler) &&
    {
        start_acquire(std::move(mutex_), mode_, timeout_, std::forward<Handler>(handler));
    }
    template <class Handler> void operator()(Handler&& handler) const&
    {
        start_acquire(mutex_, mode_, timeout_, std::forward<Handler>(handler));
    }

private:
    std::shared_ptr<mutex_state> mutex_;
    acquire_mode mode_;
    std::optional<lease_clock::duration> timeout_;
};

class initiate_contenders {
public:
    using executor_type = asio::any_io_executor;
    explicit initiate_contenders(std::shared_ptr<mutex_state> mutex) : mutex_(std::move(mutex)) {}
    [[nodiscard]] executor_type get_executor() const { return executor_of(mutex_); }

    template <class Handler> void operator()(Handler&& handler) &&
    {
        start_contenders(std::move(mutex_), std::forward<Handler>(handler));
    }
    template <class Handler> void operator()(Handler&& handler) const&
    {
        start_contenders(mutex_, std::forward<Handler>(handler));
    }

private:
    std::shared_ptr<mutex_state> mutex_;
};

class initiate_release {
public:
    using executor_type = asio::any_io_executor;
    explicit initiate_release(std::shared_ptr<guard_state> guard) : guard_(std::move(guard)) {}
    [[nodiscard]] executor_type get_executor() const { return executor_of(guard_); }

    template <class Handler> void operator()(Handler&& handler) &&
    {
        start_release(std::move(guard_), std::forward<Handler>(handler));
    }
    template <class Handler> void operator()(Handler&& handler) const&
    {
        start_release(guard_, std::forward<Handler>(handler));
    }

private:
    std::shared_ptr<guard_state> guard_;
};

class initiate_wait_lost {
public:
    using executor_type = asio::any_io_executor;
    explicit initiate_wait_lost(const std::shared_ptr<guard_state>& guard) : guard_(guard), owner_(client_of(guard)) {}
    [[nodiscard]] executor_type get_executor() const { return executor_of(owner_); }

    template <class Handler> void operator()(Handler&& handler) &&
    {
        start_wait_lost(std::move(guard_), std::move(owner_), std::forward<Handler>(handler));
    }
    template <class Handler> void operator()(Handler&& handler) const&
    {
        start_wait_lost(guard_, owner_, std::forward<Handler>(handler));
    }

private:
    std::weak_ptr<guard_state> guard_; // waiting for the loss does not keep the lock
    std::shared_ptr<client_state> owner_;
};

} // namespace zklock::detail
