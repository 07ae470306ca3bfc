#pragma once
#include "zklock/as_result.hpp"
#include "zklock/contender.hpp"
#include "zklock/held_lock.hpp"
#include "zklock/lease_clock.hpp"
#include "zklock/result.hpp"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

// What the public templates call: compiled functions that take a handler with its type erased. Each takes its state by
// value and lets go of it before the operation ends, so that a pending operation is no handle to the client.

namespace zklock {
class guard;
class multi_guard;
}

namespace zklock::detail {

class client_handle; ///< what clients and locks share: the client closes when the last one goes
class lock_state; ///< a lock of some recipe, as its handles share it; keeps the client open
class guard_state;
class client_access;
class guard_access;
class client_state;

using void_handler = asio::any_completion_handler<void(error_code)>;
template <class Handle> using handle_handler = asio::any_completion_handler<void(error_code, Handle)>;
using guard_handler = handle_handler<guard>;
using multi_guard_handler = handle_handler<multi_guard>;
using count_handler = asio::any_completion_handler<void(error_code, std::size_t)>;
using contenders_handler = asio::any_completion_handler<void(error_code, std::vector<contender>)>;

enum class acquire_mode : std::uint8_t { wait, try_once };

void start_wait_connected(std::shared_ptr<client_handle>, lease_clock::duration timeout, void_handler);
void start_close(std::shared_ptr<client_handle>, void_handler);
void start_acquire(std::shared_ptr<lock_state>, acquire_mode, std::optional<lease_clock::duration> timeout,
                   guard_handler);
void start_acquire(std::shared_ptr<lock_state>, acquire_mode, std::optional<lease_clock::duration> timeout,
                   multi_guard_handler);
/// The same re-entrant lock, for that owner.
[[nodiscard]] std::shared_ptr<lock_state> owned_by(const std::shared_ptr<lock_state>&, std::uint64_t owner);
/// What the guard holds, if it is a hold of that owner on that lock; else null.
[[nodiscard]] std::shared_ptr<guard_state> take_if_owned(const std::shared_ptr<lock_state>&, std::uint64_t owner,
                                                         guard&);
/// Releases it; for null it is `errc::not_owner`, told through the lock's client.
void start_owned_release(std::shared_ptr<lock_state>, std::shared_ptr<guard_state>, void_handler);
/// What the guard holds; it is empty then.
[[nodiscard]] std::shared_ptr<guard_state> take(guard&) noexcept;
void start_downgrade(std::shared_ptr<lock_state>, std::shared_ptr<guard_state>, guard_handler);
/// Whether the guard holds that lock alone, or why it never will.
[[nodiscard]] error_code upgradable(const std::shared_ptr<lock_state>&, const guard&) noexcept;
void start_telling(std::shared_ptr<lock_state>, error_code, void_handler);
[[nodiscard]] std::shared_ptr<const std::vector<held_lock>> locks_of(const std::shared_ptr<guard_state>&);
void start_contenders(std::shared_ptr<lock_state>, contenders_handler);
void start_holders(std::shared_ptr<lock_state>, contenders_handler);
void start_revoke(std::shared_ptr<lock_state>, std::string node, void_handler);
void start_revoke_holders(std::shared_ptr<lock_state>, count_handler);

/// One call of election::lead().
class candidacy;
using leader_handler = asio::any_completion_handler<void(error_code, std::optional<contender>)>;
[[nodiscard]] std::shared_ptr<candidacy> stand_for(const std::shared_ptr<lock_state>& election);
/// What it acquires, term by term; `operation_aborted` once it has resigned.
[[nodiscard]] const std::shared_ptr<lock_state>& lock_of(const std::shared_ptr<candidacy>&) noexcept;
[[nodiscard]] bool has_resigned(const std::shared_ptr<candidacy>&) noexcept;
/// Calls `stop` when it resigns, on the client's strand; in place of what was to be called before.
void at_resignation(const std::shared_ptr<candidacy>&, std::function<void()> stop);
void start_resign(std::shared_ptr<lock_state> election, void_handler);
void start_wait_for_leadership(std::shared_ptr<lock_state> election, void_handler);
void start_leader(std::shared_ptr<lock_state> election, leader_handler);

void start_release(std::shared_ptr<guard_state>, void_handler);
/// `owner` is null for an empty guard; the guard itself may be gone by the time the wait starts.
void start_wait_lost(std::weak_ptr<guard_state>, std::shared_ptr<client_state> owner, void_handler);
void start_wait_revoked(std::weak_ptr<guard_state>, std::shared_ptr<client_state> owner, void_handler);

[[nodiscard]] asio::any_io_executor executor_of(const std::shared_ptr<client_handle>&);
[[nodiscard]] asio::any_io_executor executor_of(const std::shared_ptr<lock_state>&);
[[nodiscard]] const std::string& path_of(const std::shared_ptr<lock_state>&) noexcept;
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

/// `Handle` is what the grant is handed over as: a guard or a multi_guard.
template <class Handle = guard> class initiate_acquire {
public:
    using executor_type = asio::any_io_executor;
    using handle_type = Handle;
    initiate_acquire(std::shared_ptr<lock_state> lock, acquire_mode mode,
                     std::optional<lease_clock::duration> timeout)
        : lock_(std::move(lock)), mode_(mode), timeout_(timeout)
    {
    }
    [[nodiscard]] executor_type get_executor() const { return executor_of(lock_); }

    template <class Handler> void operator()(Handler&& handler) &&
    {
        start_acquire(std::move(lock_), mode_, timeout_, handle_handler<Handle>(std::forward<Handler>(handler)));
    }
    template <class Handler> void operator()(Handler&& handler) const&
    {
        start_acquire(lock_, mode_, timeout_, handle_handler<Handle>(std::forward<Handler>(handler)));
    }

private:
    std::shared_ptr<lock_state> lock_;
    acquire_mode mode_;
    std::optional<lease_clock::duration> timeout_;
};

/// Of an operation that needs to know the lock, and perhaps something else.
template <auto Start, class... Args> class initiate_on_lock {
public:
    using executor_type = asio::any_io_executor;
    explicit initiate_on_lock(std::shared_ptr<lock_state> lock, Args... args)
        : lock_(std::move(lock)), args_(std::move(args)...)
    {
    }
    [[nodiscard]] executor_type get_executor() const { return executor_of(lock_); }

    template <class Handler> void operator()(Handler&& handler) &&
    {
        std::apply(
            [&](Args&... args) { Start(std::move(lock_), std::move(args)..., std::forward<Handler>(handler)); },
            args_);
    }
    template <class Handler> void operator()(Handler&& handler) const&
    {
        std::apply([&](const Args&... args) { Start(lock_, args..., std::forward<Handler>(handler)); }, args_);
    }

private:
    std::shared_ptr<lock_state> lock_;
    std::tuple<Args...> args_;
};
using initiate_contenders = initiate_on_lock<start_contenders>;
using initiate_holders = initiate_on_lock<start_holders>;
using initiate_revoke = initiate_on_lock<start_revoke, std::string>;
using initiate_revoke_holders = initiate_on_lock<start_revoke_holders>;

/// Of an operation that takes a hold of the lock from its guard. Has both until it is started.
template <auto Start> class initiate_on_hold {
public:
    using executor_type = asio::any_io_executor;
    initiate_on_hold(std::shared_ptr<lock_state> lock, std::shared_ptr<guard_state> held)
        : lock_(std::move(lock)), held_(std::move(held))
    {
    }
    [[nodiscard]] executor_type get_executor() const { return executor_of(lock_); }

    template <class Handler> void operator()(Handler&& handler) &&
    {
        Start(std::move(lock_), std::move(held_), std::forward<Handler>(handler));
    }
    template <class Handler> void operator()(Handler&& handler) const&
    {
        Start(lock_, held_, std::forward<Handler>(handler));
    }

private:
    std::shared_ptr<lock_state> lock_;
    std::shared_ptr<guard_state> held_;
};
using initiate_downgrade = initiate_on_hold<start_downgrade>;
using initiate_owned_release = initiate_on_hold<start_owned_release>;

/// Of what is known already.
class initiate_telling {
public:
    using executor_type = asio::any_io_executor;
    initiate_telling(std::shared_ptr<lock_state> lock, error_code what) : lock_(std::move(lock)), what_(what) {}
    [[nodiscard]] executor_type get_executor() const { return executor_of(lock_); }

    template <class Handler> void operator()(Handler&& handler) &&
    {
        start_telling(std::move(lock_), what_, std::forward<Handler>(handler));
    }
    template <class Handler> void operator()(Handler&& handler) const&
    {
        start_telling(lock_, what_, std::forward<Handler>(handler));
    }

private:
    std::shared_ptr<lock_state> lock_;
    error_code what_;
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

template <auto Start> class initiate_guard_wait {
public:
    using executor_type = asio::any_io_executor;
    explicit initiate_guard_wait(const std::shared_ptr<guard_state>& guard) : guard_(guard), owner_(client_of(guard)) {}
    [[nodiscard]] executor_type get_executor() const { return executor_of(owner_); }

    template <class Handler> void operator()(Handler&& handler) &&
    {
        Start(std::move(guard_), std::move(owner_), std::forward<Handler>(handler));
    }
    template <class Handler> void operator()(Handler&& handler) const&
    {
        Start(guard_, owner_, std::forward<Handler>(handler));
    }

private:
    std::weak_ptr<guard_state> guard_; // waiting does not keep the lock
    std::shared_ptr<client_state> owner_;
};
using initiate_wait_lost = initiate_guard_wait<start_wait_lost>;
using initiate_wait_revoked = initiate_guard_wait<start_wait_revoked>;

} // namespace zklock::detail
