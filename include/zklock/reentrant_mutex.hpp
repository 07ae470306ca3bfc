// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/client.hpp"
#include "zklock/contender.hpp"
#include "zklock/detail/operations.hpp"
#include "zklock/detail/run.hpp"
#include "zklock/detail/saturate.hpp"
#include "zklock/guard.hpp"
#include "zklock/lock_owner.hpp"
#include "zklock/lockable.hpp"
#include "zklock/mutex_options.hpp"
#include "zklock/wait_report.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zklock {

/// A lock that its owner may acquire again while holding it. On the servers it is a `mutex`, and shares paths with
/// those, with Curator's `InterProcessMutex` and with others (`names`, `mark` and `also_heeds` of `mutex_options`):
/// they all exclude each other.
///
/// **Owners.** The owner is an object that is given to each acquire, not a thread. Each acquire that succeeds is one
/// *hold*, and gives a guard that stands for it; the lock is free when the last hold of the owner is released. All
/// holds of an owner share one node and one fencing token. All re-entrant mutexes of one *client* on one path are the
/// same lock: an owner may enter through any of them. Through another client the same owner is another contender, and
/// waits for itself.
///
/// **Acquiring again** costs no request and completes at once. While an acquire of the same owner is under way, a
/// further one joins it: it gets the same grant, or the same error; only its deadline and its cancellation are its own.
/// Its options do not count.
///
/// **Loss.** When the lock is lost, all holds are. Until the owner has released every one of them, its acquires fail
/// with `errc::lost`, so that nobody goes on with a lock that somebody else may have by now.
///
/// It is a handle to shared state and cheap to copy. See `mutex` for paths and options and `client` for executors,
/// lifetimes and the errors that every operation can end with. Thread safety: distinct objects: safe. One object: not
/// safe, except for `path()`, `hold_count()`, `is_held()`, `owned_by()`, `last_timeout()` and `get_executor()`.
///
/// The idea, and the name of the lock's nodes, are those of Curator's `InterProcessMutex`.
class reentrant_mutex {
public:
    using executor_type = asio::any_io_executor; ///< what `get_executor()` gives

    /// Sends nothing: each operation tells of bad input. The client stays open as long as a handle of the lock is
    /// there. Throws std::bad_alloc.
    reentrant_mutex(const client& c, std::string path, mutex_options options = {});

    /// The client's executor; the system executor once its context is gone. From any thread.
    [[nodiscard]] executor_type get_executor() const { return detail::executor_of(state_); }
    /// The lock's path; valid as long as this object or a copy of it is there. From any thread.
    [[nodiscard]] const std::string& path() const noexcept { return detail::path_of(state_); }
    /// What the last acquire that ended at its deadline had waited for: see `mutex::last_timeout()`.
    [[nodiscard]] std::optional<wait_report> last_timeout() const { return detail::last_timeout_of(state_); }

    /// How many holds the owner has on this path through this client: guards that have not been released, even if their
    /// lock is lost. It counts what the client's strand has done so far: a guard that went away may count for a moment
    /// longer. None in a process that was forked off.
    [[nodiscard]] std::size_t hold_count(lock_owner owner) const;

    /// Whether the owner holds the lock, through any object on this path of this client, as far as this process can
    /// know: it has a hold, and has not lost it. It looks at the clock, not at the network. As with `hold_count()`, a
    /// guard that went away may count for a moment longer. From any thread. Throws std::bad_alloc.
    [[nodiscard]] bool is_held(lock_owner owner) const;
    /// Whether any owner does: Curator's `isAcquiredInThisProcess()`. From any thread. Throws std::bad_alloc.
    [[nodiscard]] bool is_held() const;

    /// Waits for the lock; takes one more hold at once if the owner has it.
    ///
    /// @par Completion `void(error_code, guard)`, with the errors of `mutex::acquire()`, and
    /// - `errc::lost`: the owner has holds of a lock that was lost, and has to release them first.
    /// - `errc::invalid_option`: also when the owner has, or is acquiring, the lock with nodes of another name, heeds
    ///   other names, or has it as an `owned_shared_mutex`.
    ///
    /// @par Cancellation Terminal, partial and total all withdraw, as `mutex::acquire()` tells; an acquire that has
    /// joined another only ends itself.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, guard)) Token = default_token>
    [[nodiscard]] auto acquire(lock_owner owner, Token&& token = Token())
    {
        return detail::begin<Token>(token, detail::waiting<guard>(lock_of(owner)));
    }

    /// Waits for the lock until a deadline, counted from the start of the operation. `timeout` may be any duration: one
    /// too long for the clock means for ever; zero or less looks once.
    ///
    /// @par Completion `void(error_code, guard)`, with the errors of `mutex::acquire()`, and
    /// - one of `condition::not_in_time`: the deadline has passed, as `mutex::acquire(timeout)` tells.
    /// - `errc::lost`: the owner has holds of a lock that was lost, and has to release them first.
    /// - `errc::invalid_option`: also for the reasons that `acquire(owner)` names.
    ///
    /// @par Cancellation Terminal, partial and total all withdraw, as `mutex::acquire()` tells; an acquire that has
    /// joined another only ends itself.
    template <class Rep, class Period, BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, guard)) Token = default_token>
    [[nodiscard]] auto acquire(lock_owner owner, std::chrono::duration<Rep, Period> timeout, Token&& token = Token())
    {
        return detail::begin<Token>(token, detail::waiting<guard>(lock_of(owner), detail::saturate(timeout)));
    }

    /// Takes the lock if the owner has it or it is free now.
    ///
    /// @par Completion `void(error_code, guard)`, with the errors of `mutex::acquire()`, and
    /// - `errc::busy`: somebody else holds the lock or queues for it, or the owner itself waits for it.
    /// - `errc::not_connected`: the client is disconnected. It is `errc::tls_failed` if TLS has failed with all
    ///   servers. A try never waits for a connection; `mutex::try_acquire()` tells how long it may last.
    /// - `errc::lost`: the owner has holds of a lock that was lost, and has to release them first.
    /// - `errc::invalid_option`: also for the reasons that `acquire(owner)` names.
    ///
    /// @par Cancellation Terminal, partial and total all withdraw, as `mutex::acquire()` tells; a try that has joined
    /// another acquire only ends itself.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, guard)) Token = default_token>
    [[nodiscard]] auto try_acquire(lock_owner owner, Token&& token = Token())
    {
        return detail::begin<Token>(token, detail::trying<guard>(lock_of(owner)));
    }

    /// Gives one hold back on behalf of an owner, if it is the owner's: `co_await lock.release(me, held)`. The guard is
    /// then empty. A guard may also be released by itself, by `guard::release()`.
    ///
    /// @par Completion `void(error_code)`, with the errors of `guard::release()`, and `errc::not_owner` when the guard
    /// is empty, of another owner, or of another lock: it then stays as it is.
    ///
    /// @par Cancellation Terminal, partial and total only stop the waiting: the release goes on in the background.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto release(lock_owner owner, guard& held, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_owned_release>(token, state_,
                                                                 detail::take_if_owned(state_, owner.id(), held));
    }

    /// Reads who holds the lock and who waits: see `mutex::contenders()`. An owner is listed once, however often it
    /// holds.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::vector<contender>)) Token = default_token>
    [[nodiscard]] auto contenders(Token&& token = Token())
    {
        return detail::begin<Token, detail::start_contenders>(token, state_);
    }

    /// Asks a contender to let go: see `mutex::revoke()`. All holds of an owner are told.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto revoke(const contender& whom, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_revoke>(token, state_, whom.node);
    }
    /// Asks the holder of the lock to let go: see `mutex::revoke_holder()`. Errors and cancellation are those of
    /// `mutex::revoke()`.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::size_t)) Token = default_token>
    [[nodiscard]] auto revoke_holder(Token&& token = Token())
    {
        return detail::begin<Token, detail::start_revoke_holders>(token, state_);
    }

    /// Runs `body` while the owner holds the lock once more: see `mutex::run()`. An error of the acquire is one of
    /// `mutex::acquire()`, or `errc::lost` or `errc::invalid_option` with the meaning that `acquire(owner)` gives it.
    template <class Body> [[nodiscard]] auto run(lock_owner owner, Body&& body)
    {
        return detail::run<guard>(detail::waiting<guard>(lock_of(owner)), std::forward<Body>(body));
    }

    /// Runs `body` while the owner holds the lock once more, as `mutex::run()` does, but waits for the lock only until
    /// a deadline, counted from the start of the operation. `timeout` may be any duration: one too long for the clock
    /// means for ever; zero or less looks once. An error of the acquire is one of `mutex::acquire()`, or another that
    /// `acquire(owner, timeout)` lists.
    template <class Rep, class Period, class Body>
    [[nodiscard]] auto run(lock_owner owner, std::chrono::duration<Rep, Period> timeout, Body&& body)
    {
        return detail::run<guard>(detail::waiting<guard>(lock_of(owner), detail::saturate(timeout)),
                                  std::forward<Body>(body));
    }

    /// For `multi_lock`: this lock, to be acquired for that owner.
    [[nodiscard]] lockable owned_by(lock_owner owner) const
    {
        return detail::access::make<lockable>(lock_of(owner));
    }

private:
    [[nodiscard]] std::shared_ptr<detail::lock_state> lock_of(lock_owner owner) const
    {
        return detail::owned_by(state_, owner.id());
    }

    std::shared_ptr<detail::lock_state> state_;
};

} // namespace zklock
