// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/client.hpp"
#include "zklock/detail/access.hpp"
#include "zklock/detail/operations.hpp"
#include "zklock/detail/run.hpp"
#include "zklock/detail/saturate.hpp"
#include "zklock/events.hpp"
#include "zklock/guard.hpp"
#include "zklock/result.hpp"

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zklock {

/// What every lock has. A lock is a handle to shared state and cheap to copy; it keeps its client open. See `client`
/// for executors, lifetimes and the errors that every operation can end with.
///
/// **Thread safety.** Distinct objects: safe. One object: its const member functions, which are nearly all, may be
/// called from any threads at once; assigning, moving and destroying are for one thread at a time, and not at the same
/// time as anything else.
class lock_handle {
public:
    using executor_type = asio::any_io_executor; ///< what `get_executor()` gives

    /// The client's executor; the system executor once its context is gone, and for a `multi_lock` without a lock.
    [[nodiscard]] executor_type get_executor() const { return detail::executor_of(state_); }

    /// What the last acquire that ended at its deadline had waited for (`run()` included; with any error of
    /// `condition::not_in_time`): who held the lock, and how many were before us; or since when there was no
    /// connection, and why. It is there before the acquire completes. Copies of a lock share it, and so do all that the
    /// lock gives, such as the readers' side: where several acquires are under way, it may be another one's. There is
    /// none if no acquire has ended so. An acquire with no time to wait leaves none.
    ///
    ///     auto held = co_await lock.acquire(5s);
    ///     if (!held && held.error() == zklock::condition::not_in_time)
    ///         if (const auto why = lock.last_timeout())
    ///             std::cerr << to_string(*why) << '\n';
    ///
    /// The log tells the same. For the report the client reads each holder's node once, when a quarter of the time-out
    /// is left, or 250 ms if that is less: acquires that are granted before that pay nothing. Throws std::bad_alloc.
    [[nodiscard]] std::optional<wait_report> last_timeout() const { return detail::last_timeout_of(state_); }

    /// Whether an acquire of this object, or of a copy of it, holds the lock, as far as this process can know: one of
    /// its guards says so (see `guard::operator bool()`), or a `multi_guard` that has this lock in it. It looks at the
    /// clock, not at the network. Other objects on the same path do not count: each acquire is a contender of its own.
    /// (Those of a re-entrant lock do: `reentrant_mutex::owned_by()`.)
    ///
    /// A lock counts from its grant on, which may be before the handler is called. It counts no more once its guard is
    /// destroyed, or the client's strand has begun with its release.
    ///
    /// The question is that of Curator's `isAcquiredInThisProcess()`, and of `WriteLock.isOwner()`.
    [[nodiscard]] bool is_held() const noexcept { return detail::count_held(state_) != 0; }

protected:
    /// What that state stands for.
    explicit lock_handle(std::shared_ptr<detail::lock_state> state) noexcept : state_(std::move(state)) {}
    /// The state that copies share.
    [[nodiscard]] const std::shared_ptr<detail::lock_state>& state() const noexcept { return state_; }

private:
    friend class detail::access;
    std::shared_ptr<detail::lock_state> state_; ///< null for a `multi_lock` without a lock
};

/// A lock with a path, at which all who want it queue up.
///
/// A path is absolute, below the client's chroot, such as `/locks/stock`. It cannot be in `/zookeeper`, which is the
/// servers' own. Missing parents are made. Invalid paths and options never throw: operations end with
/// `errc::invalid_path` or `errc::invalid_option`.
class queued_lock : public lock_handle {
public:
    /// The lock's path; valid as long as this object or a copy of it is there.
    [[nodiscard]] const std::string& path() const noexcept { return detail::path_of(state()); }

    /// Reads who holds the lock and who waits, in the order of the queue; of a semaphore, who is in the waiting line.
    /// An owner of a re-entrant lock is listed once, however often it holds. `contender::shared` tells the readers. It
    /// waits for a connection. It takes one request, and one more for each contender, as the client's window (see
    /// `client`, Nodes) lets them go: a long queue takes its time, and may change meanwhile.
    ///
    /// @par Completion `void(error_code, std::vector<contender>)`. A path that does not exist has no contenders.
    /// `errc::access_denied`, `errc::server_error`, `errc::invalid_path`, `errc::invalid_option`,
    /// `errc::authentication_failed`, `errc::closed`; `asio::error::operation_aborted` when cancelled.
    ///
    /// @par Cancellation Terminal, partial and total all end it at once.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::vector<contender>)) Token = default_token>
    [[nodiscard]] auto contenders(Token&& token = Token()) const
    {
        return detail::begin<Token, detail::start_contenders>(token, state());
    }

    /// Asks a contender, as `contenders()` lists it, to let go; of a semaphore the holder of a permit, as
    /// `semaphore::holders()` lists it. The contender is told if it waits for that (`guard::wait_revoked()`, Curator's
    /// `makeRevocable`), and nobody is forced. It may be a contender of any client, this one included. It may still
    /// wait for the lock: a contender of this library then learns of the request when it holds the lock, one of
    /// Curator's at once. All holds of an owner of a re-entrant lock are told. The call waits for a connection, and
    /// takes one request; one more if a writer has become a reader since. If the connection is lost before the answer,
    /// it asks again on the next.
    ///
    /// The request replaces the contender's data: who it is can be read no more (`contender::revoked`). Curator's
    /// programs would not understand a request of another form.
    ///
    /// @par Completion `void(error_code)`
    /// - success: it was asked, or is gone already.
    /// - `errc::invalid_path`: it is no node of this lock. `errc::access_denied`: the node's ACL forbids it.
    /// - `errc::server_error`, `errc::invalid_option`, `errc::authentication_failed`, `errc::closed`;
    ///   `asio::error::operation_aborted` when cancelled.
    ///
    /// @par Cancellation Terminal, partial and total all end it at once; the request may have been sent.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto revoke(const contender& whom, Token&& token = Token()) const
    {
        return detail::begin<Token, detail::start_revoke>(token, state(), whom.node);
    }

    /// Asks all who hold the lock at one look to let go, as `revoke()` does: its one holder, or the leader; all readers
    /// up to the first writer that waits; all who have permits, perhaps with the first in the line, who makes its nodes
    /// before there is room. It takes one request, and one more for each of them; one whose answer is lost with the
    /// connection is sent again on the next.
    ///
    /// @par Completion `void(error_code, std::size_t)`: how many were asked, of a semaphore for how many permits. Those
    /// who have let go meanwhile do not count, and those who come after them are not asked. Errors and cancellation are
    /// those of `revoke()`; when one holder may not be asked, the others may have been.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::size_t)) Token = default_token>
    [[nodiscard]] auto revoke_holders(Token&& token = Token()) const
    {
        return detail::begin<Token, detail::start_revoke_holders>(token, state());
    }

protected:
    /// What that state stands for.
    explicit queued_lock(std::shared_ptr<detail::lock_state> state) noexcept : lock_handle(std::move(state)) {}
};

/// Any lock with a path that can be acquired, whatever is held then: what a `multi_lock` is made of, for lists that are
/// made at run time. It is a handle, as the lock is.
class lockable {
public:
    /// The lock's path. The members of a `multi_lock` must have different ones. Never fails.
    [[nodiscard]] const std::string& path() const noexcept { return detail::path_of(state_); }

private:
    friend class detail::access;
    explicit lockable(std::shared_ptr<detail::lock_state> state) noexcept : state_(std::move(state)) {}

    std::shared_ptr<detail::lock_state> state_;
};

/// What can be acquired, with the guard that this gives: a `mutex`, a `shared_mutex` by its writers or its readers, a
/// re-entrant lock by one owner, some permits of a semaphore, several locks at once. Each acquire is a contender of its
/// own, unless the lock says otherwise: one that is acquired twice waits for itself.
///
/// What a lock gives to be acquired (`shared_mutex::shared()`, `reentrant_mutex::owned_by()`,
/// `semaphore::permits_of()`) is of this very type. It can be kept, and is a handle of the lock itself.
template <class Guard, class Base = queued_lock> class acquirable : public Base {
public:
    using guard_type = Guard; ///< what holds it

    /// This lock as a member of a `multi_lock`; keeps the client open.
    [[nodiscard]] operator lockable() const
        requires std::derived_from<Base, queued_lock>
    {
        return detail::access::make<lockable>(this->state());
    }

    /// Waits for the lock, for as long as it takes.
    ///
    /// @par Completion `void(error_code, Guard)`, exactly once, on the handler's associated executor (by default the
    /// client's), never inside this call. The guard is empty if there is an error.
    /// - success: the guard holds the lock.
    /// - `errc::lost`: it was granted, and the lock was lost before that could be told, because the client did not run
    ///   for so long, say. Nothing is left to release. Of a re-entrant lock, also: the owner has holds of a lock that
    ///   was lost, and has to release them first.
    /// - `asio::error::operation_aborted`: it was cancelled.
    /// - `errc::session_expired`, `errc::not_connected` (the answer to its create was lost, and no node was found after
    ///   that), `errc::lost` (others deleted its node): what ended the last of the attempts that
    ///   `mutex_options::max_attempts` allows. Without such a limit none of these ends a wait: it queues again.
    /// - `errc::access_denied`: the ACL of a parent, or of a node before it, forbids it. `errc::no_such_chroot`: the
    ///   chroot's node does not exist. `errc::quota_exceeded`: there is a quota, and it is used up.
    ///   `errc::server_error`: the servers refused for another reason.
    /// - `errc::over_budget`: one more node could harm the ensemble (`client_options::node_budget_limit`).
    /// - `errc::sequence_exhausted`, `errc::token_exhausted`: the path, or the ensemble, has run out of numbers.
    /// - `errc::not_upgradable`: of a re-entrant shared mutex, to write: the owner only reads, or waits to.
    /// - `errc::invalid_path`, `errc::invalid_option`, `errc::authentication_failed`, `errc::closed`. Each lock names
    ///   what else is an invalid option of it.
    ///
    /// @par Cancellation Terminal, partial and total all withdraw, at whatever point: it completes at once. The delete
    /// of its node is on its way then, or follows the answer to its create, or is sent on the next connection. But if
    /// the lock had been granted and that result posted, the handler gets the guard. A guard that nobody takes (the
    /// coroutine was cancelled, or the context was destroyed) is released.
    ///
    /// A pending acquire keeps neither the lock nor the client open: when the last of their handles goes, it ends with
    /// `errc::closed`. So `mutex(c, path).acquire(callback)` needs a client that stays. A coroutine has its handles in
    /// its frame.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, Guard)) Token = default_token>
    [[nodiscard]] auto acquire(Token&& token = Token()) const
    {
        return detail::begin<Token>(token, detail::waiting<Guard>(this->state()));
    }

    /// Waits for the lock until a deadline. The time runs from the start of the operation (with a token such as
    /// `use_awaitable`, when it is awaited), and a wait for a connection counts.
    ///
    /// @param timeout Any duration: one too long for the clock means for ever; zero or less looks once.
    ///
    /// Completion and cancellation are those of `acquire()`. At the deadline it ends with one of
    /// `condition::not_in_time`:
    /// - `errc::timed_out`: the lock is not free. Its last look at the queue, in this session, showed somebody before
    ///   it, or too few permits, and the servers were heard from within the session's time-out.
    /// - `errc::not_connected`: it does not know that, because of an outage most likely: there is no connection, or no
    ///   answer has come in time. A time that is too short for a few round trips ends so, too.
    /// - `errc::tls_failed`: the same, and TLS has failed with all servers.
    ///
    /// The delete of its node is on its way then, or is sent on the next connection.
    template <class Rep, class Period, BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, Guard)) Token = default_token>
    [[nodiscard]] auto acquire(std::chrono::duration<Rep, Period> timeout, Token&& token = Token()) const
    {
        return detail::begin<Token>(token, detail::waiting<Guard>(this->state(), detail::saturate(timeout)));
    }

    /// Takes the lock if it is free now. When it can see that it is not, nothing is written to the servers.
    ///
    /// Completion and cancellation are those of `acquire()`. It ends with `errc::busy` when somebody whom it would have
    /// to wait for holds the lock or queues for it, and with `errc::not_connected` while disconnected: it never waits
    /// for a connection. If TLS has failed with all servers, it ends with `errc::tls_failed` in place of
    /// `errc::not_connected`. While the servers are silent it lasts until the connection is given up: up to two thirds
    /// of the session's time-out. Where that is too long, `acquire(50ms)` has a bound of its own; but it queues. Over a
    /// connection that is too slow to keep a lock, it ends with `errc::not_connected` after the session's time-out.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, Guard)) Token = default_token>
    [[nodiscard]] auto try_acquire(Token&& token = Token()) const
    {
        return detail::begin<Token>(token, detail::trying<Guard>(this->state()));
    }

    /// Runs `body` while the lock is held: acquire, body, release. Coroutines only.
    ///
    ///     auto sell = [&](zklock::guard& held) -> asio::awaitable<zklock::result<order>> { … };
    ///     zklock::result<order> sold = co_await lock.run(5s, sell);
    ///
    /// @param body Called with `Guard&`, gives `awaitable<result<T>>` or `awaitable<void>`. It is copied (or moved) in;
    /// pass `std::ref(body)` if it can be neither. Under gcc a temporary must be trivially destructible: so name the
    /// lambda and pass that. The user's guide says why, under "A lock around a piece of work".
    ///
    /// The body runs on a strand over the executor of the awaiting coroutine. When the lock is lost it is cancelled
    /// (terminal). The lock is released however the body ends.
    ///
    /// @returns `awaitable<result<T>>` (`result<void>` for a body of `awaitable<void>`):
    /// - what the body gave;
    /// - an error of `acquire()`, when the body was not run;
    /// - `errc::lost` when the lock was lost before the body was done and the lock released, whatever the body gave, as
    ///   far as the release can say: see `guard::release()`.
    ///
    /// An exception of the body passes through after the release, except the `operation_aborted` that it was cancelled
    /// with because of the loss.
    ///
    /// @par Cancellation It is passed on to the acquire or to the body, whatever its type; a body reacts to those types
    /// that its cancellation state lets through (terminal, unless it says otherwise). The lock is then released in the
    /// background.
    ///
    /// A run keeps the client open. The idea of a task that runs while the lock is held, and is cancelled before
    /// anybody else can hold it, is that of `dist_lock` in userver.
    template <class Body> [[nodiscard]] auto run(Body&& body) const
    {
        return detail::run<Guard>(detail::waiting<Guard>(this->state()), std::forward<Body>(body));
    }

    /// Runs `body` like `run(body)`, but waits for the lock only until a deadline, counted from the start of the
    /// operation: as `acquire(timeout)` does.
    template <class Rep, class Period, class Body>
    [[nodiscard]] auto run(std::chrono::duration<Rep, Period> timeout, Body&& body) const
    {
        return detail::run<Guard>(detail::waiting<Guard>(this->state(), detail::saturate(timeout)),
                                  std::forward<Body>(body));
    }

protected:
    friend class detail::access;
    /// What that state stands for.
    explicit acquirable(std::shared_ptr<detail::lock_state> state) noexcept : Base(std::move(state)) {}
};

} // namespace zklock
