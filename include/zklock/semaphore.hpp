// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/client.hpp"
#include "zklock/detail/operations.hpp"
#include "zklock/detail/run.hpp"
#include "zklock/detail/saturate.hpp"
#include "zklock/detail/semaphore_operations.hpp"
#include "zklock/events.hpp"
#include "zklock/guard.hpp"
#include "zklock/lock_options.hpp"
#include "zklock/lockable.hpp"
#include "zklock/node.hpp"
#include "zklock/result.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zklock {

/// Permits that are held: what a successful `semaphore::acquire()` gives. Everything that is said of `guard` holds for
/// this handle, too: it is movable, may be empty, gives all back in the background when it goes away, and has the same
/// thread safety.
///
/// **Loss.** The permits of one handle are held and lost together: when others delete the node of one, all are lost,
/// and the rest is given back. Permits that were split off are lost by themselves.
class [[nodiscard]] permits {
public:
    using executor_type = asio::any_io_executor; ///< what `get_executor()` gives

    /// An empty handle, of no permits.
    permits() noexcept = default;

    /// The client's executor; the system executor for an empty one, and once the context is gone. From any thread.
    [[nodiscard]] executor_type get_executor() const { return held_.get_executor(); }

    /// Whether there are some, and they are held as far as this process can know: see `guard::operator bool()`. From
    /// any thread.
    [[nodiscard]] explicit operator bool() const& noexcept { return static_cast<bool>(held_); }
    explicit operator bool() const&& = delete; ///< give them a name: they are held as long as that lives

    /// How many there are: those acquired, less those that were released or split off. Lost ones count, too. From any
    /// thread.
    [[nodiscard]] std::size_t count() const& noexcept { return detail::permit_count(held_); }
    std::size_t count() const&& = delete; ///< give them a name

    /// Full path of the node of the first permit, which is the last to be released. A transaction of the user's own can
    /// check that the node still exists. From any thread; valid as long as this is not moved or destroyed.
    [[nodiscard]] const std::string& node() const& noexcept { return held_.node(); }
    const std::string& node() const&& = delete; ///< give them a name

    /// A positive number, the same for all permits of one acquire, and larger than that of every acquire, of any
    /// client, that was granted before it on the path. It is the token by which the acquire held the lock of the
    /// waiting line.
    ///
    /// It tells acquires apart, and in which order they were granted. Unlike a mutex's token, it cannot by its size
    /// keep out a holder that has lost its permits, because holders with smaller tokens may be there by right. A
    /// resource can do that if it keeps a list of its users' tokens, from which those of lost holders are struck out.
    /// 0 if there are no permits.
    [[nodiscard]] std::int64_t fencing_token() const& noexcept { return held_.fencing_token(); }
    std::int64_t fencing_token() const&& = delete; ///< give them a name

    /// Until when the permits are ours at least: see `guard::held_until()`. From any thread.
    [[nodiscard]] lease_clock::time_point held_until() const& noexcept { return held_.held_until(); }
    lease_clock::time_point held_until() const&& = delete; ///< give them a name

    /// How the permits were lost, if they were: see `guard::loss()`. From any thread.
    [[nodiscard]] std::optional<lock_loss> loss() const& noexcept { return held_.loss(); }
    std::optional<lock_loss> loss() const&& = delete; ///< give them a name

    /// Waits until the permits are lost: see `guard::wait_lost()`. It also ends with `operation_aborted` when the last
    /// has been released or split off.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto wait_lost(Token&& token = Token()) const
    {
        return held_.wait_lost(std::forward<Token>(token));
    }

    /// Waits until the holder of one of them is asked to let go: see `guard::wait_revoked()`. Its node's data are then
    /// `__REVOKE__`.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto wait_revoked(Token&& token = Token()) const
    {
        return held_.wait_revoked(std::forward<Token>(token));
    }

    /// Does all operations of a transaction if all permits are still held, or none: see `guard::commit()`. The servers
    /// look for the node of each permit that is here when the commit is sent: the length of the request grows with
    /// their number. It also ends with `errc::not_owner` when the last has been released or split off.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, commit_result)) Token = default_token>
    [[nodiscard]] auto commit(transaction what, Token&& token = Token()) const
    {
        return held_.commit(std::move(what), std::forward<Token>(token));
    }

    /// Gives all of them back: `co_await std::move(p).release()`. See `guard::release()`; it completes when the last
    /// node is gone. It ends with `errc::lost` if others had deleted the node of any of them, as told there. A permit
    /// whose node the servers refuse to delete stays in use, for acquires of this client, too, until that is done.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto release(Token&& token = Token()) &&
    {
        return std::move(held_).release(std::forward<Token>(token));
    }

    /// Gives `count` of them back, and keeps the others.
    ///
    /// @par Completion `void(error_code)`, when their nodes are gone, with the errors of `guard::release()`. If `count`
    /// is 0, or more than there are, nothing happens, and it ends with `errc::invalid_option`. If this is empty, it
    /// ends with `errc::not_owner`, told by the system executor: see `guard::wait_lost()`. When none are left, this is
    /// not held any more.
    ///
    /// @par Cancellation Terminal, partial and total only stop the waiting: the release goes on in the background. A
    /// lazy token (`use_awaitable`, `deferred`) that is never started releases nothing.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto release(std::size_t count, Token&& token = Token()) &
    {
        return detail::begin<Token, detail::start_partial_release>(token, detail::state_of(held_), count);
    }

    /// Takes `count` of them out, to be held, released and lost by themselves: for a part of the work that goes its own
    /// way. It costs no request.
    ///
    /// @par Completion `void(error_code, permits)`.
    /// - success: the result has them, and this has them no more.
    /// - with an error nothing has happened. `errc::invalid_option`: `count` is 0, or more than there are.
    ///   `errc::not_owner`: this is empty (told by the system executor: see `guard::wait_lost()`). `errc::lost`: they
    ///   are lost. `errc::closed`. `asio::error::operation_aborted`: it was cancelled before it began.
    ///
    /// @par Cancellation It has an effect only before the operation has begun: a split never waits for anything.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, permits)) Token = default_token>
    [[nodiscard]] auto split(std::size_t count, Token&& token = Token()) &
    {
        return detail::begin<Token, detail::start_split>(token, detail::state_of(held_), count);
    }

private:
    friend class detail::access;
    explicit permits(std::shared_ptr<detail::guard_state> state) noexcept
        : held_(detail::access::make<guard>(std::move(state)))
    {
    }

    guard held_;
};

namespace detail {

template <> struct delivered<permits> : delivered_lock<permits> {};
template <> inline guard_state* held_by(const permits& p) noexcept
{
    return held_by(access::guard_of(p));
}

} // namespace detail

/// A number of permits in ZooKeeper, named by its path: all programs that use the path together hold no more of them at
/// once than there are.
///
///     zklock::semaphore gate(c, "/gates/export", 8);
///     zklock::result<zklock::permits> held = co_await gate.acquire(3, 5s);
///
/// **Order.** Acquires are served in the order in which the servers numbered them: one that wants many permits is not
/// overtaken by those that want few. Only the first in the line looks at the permits in use; the others wait to be the
/// first (no herd).
///
/// **All or none.** An acquire gets all the permits that it asked for, or none. They may be given back one by one.
///
/// **How many** permits there are is a convention of all who use the path (`semaphore_options::permits`), which is
/// checked if they wish (`check_permits`). Or it is a number in a node (`count_path`), which may be changed at any
/// time: when it grows, those who wait are granted; when it shrinks, nothing is taken from holders, and nobody is
/// granted until less than the new number are held.
///
/// It is a handle to shared state and cheap to copy. See `mutex` for paths and `client` for executors, lifetimes and
/// the errors that every operation can end with. Thread safety: distinct objects: safe. One object: not safe, except
/// for `path()`, `permits_held()`, `last_timeout()` and `get_executor()`.
///
/// The idea, and the nodes, are those of Curator's `InterProcessSemaphoreV2`, which calls a permit in use a lease: path
/// and shared count can be shared with it; or those of kazoo's `Semaphore` (`semaphore_options::names`).
class semaphore {
public:
    using executor_type = asio::any_io_executor; ///< what `get_executor()` gives

    /// Sends nothing: each operation tells of bad input. The client stays open as long as a handle of the lock is
    /// there. `permits`: see `semaphore_options::permits`. Throws std::bad_alloc.
    semaphore(const client& c, std::string path, unsigned permits);
    /// The same, with more options.
    semaphore(const client& c, std::string path, semaphore_options options);

    /// The client's executor; the system executor once its context is gone. From any thread.
    [[nodiscard]] executor_type get_executor() const { return detail::executor_of(state_); }
    /// The semaphore's path; valid as long as this object or a copy of it is there. From any thread.
    [[nodiscard]] const std::string& path() const noexcept { return detail::path_of(state_); }
    /// What the last acquire that ended at its deadline had waited for: see `mutex::last_timeout()`. The holder that it
    /// names holds permits, and may be one of several.
    [[nodiscard]] std::optional<wait_report> last_timeout() const { return detail::last_timeout_of(state_); }
    /// How many permits the acquires of this object, and of its copies, hold together, as far as this process can know;
    /// those that were split off count, lost ones do not. What `mutex::is_held()` says of guards holds for `permits`.
    /// From any thread.
    [[nodiscard]] std::size_t permits_held() const noexcept { return detail::count_held(state_); }

    /// Waits for `count` permits, for as long as it takes.
    ///
    /// @par Completion `void(error_code, permits)`, exactly once, on the handler's associated executor (by default the
    /// client's), never inside this call. With an error there are none.
    /// - success: the permits are held.
    /// - `errc::lost`: they were granted, and lost before that could be told, because the client did not run for so
    ///   long, say. Nothing is left to release.
    /// - `errc::invalid_option`: no permit is asked for, or more than there are (with a shared count it waits for them
    ///   instead); an option is out of range; other semaphores of the client on this path have other options; the
    ///   path's data says another number (`check_permits`); the shared count's node holds none.
    /// - `asio::error::operation_aborted`: it was cancelled. `errc::over_budget`: so many nodes could harm the
    ///   ensemble.
    /// - `errc::access_denied`: the ACL of a parent, or of another node that it needs, forbids it.
    ///   `errc::no_such_chroot`: the chroot's node does not exist. `errc::server_error`: the servers refused for
    ///   another reason.
    /// - `errc::sequence_exhausted`, `errc::token_exhausted`: the path, or the ensemble, has run out of numbers.
    /// - `errc::invalid_path`, `errc::authentication_failed`, `errc::closed`.
    /// - `errc::lost`, `errc::not_connected`, `errc::session_expired`: what ended the last of the attempts that
    ///   `semaphore_options::max_attempts` allows, as that option tells. Until then, an acquire whose session expires,
    ///   or whose nodes others delete, queues again.
    ///
    /// @par Cancellation Terminal, partial and total all withdraw the acquire, at whatever point it is: it completes at
    /// once. The deletes of its nodes are on their way then, or follow the answers to their creates, or are sent on the
    /// next connection. But if the permits had been granted and that result posted, the handler gets them. Permits that
    /// nobody takes are given back.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, permits)) Token = default_token>
    [[nodiscard]] auto acquire(std::size_t count, Token&& token = Token())
    {
        return detail::begin<Token>(token, detail::waiting<permits>(lock_of(count)));
    }

    /// Waits for `count` permits until a deadline, counted from the start of the operation over everything it does.
    ///
    /// @param timeout Any duration: one too long for the clock means for ever; zero or less looks once.
    ///
    /// @par Completion `void(error_code, permits)`, with the errors of `acquire(count)`, and at the deadline one of
    /// `condition::not_in_time`: `errc::timed_out` if it knows that others are before it in the line or that too few
    /// permits are free, as `mutex::acquire(timeout)` tells.
    ///
    /// @par Cancellation Terminal, partial and total all withdraw, as `acquire(count)` tells.
    template <class Rep, class Period, BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, permits)) Token = default_token>
    [[nodiscard]] auto acquire(std::size_t count, std::chrono::duration<Rep, Period> timeout, Token&& token = Token())
    {
        return detail::begin<Token>(token, detail::waiting<permits>(lock_of(count), detail::saturate(timeout)));
    }

    /// Takes `count` permits if they are free now and nobody is in the line. When it can see that it is not so, nothing
    /// is written to the servers.
    ///
    /// @par Completion `void(error_code, permits)`, with the errors of `acquire(count)`, and
    /// - `errc::busy`: there are not enough, or somebody waits for some, or takes some at this moment.
    /// - `errc::not_connected`: the client is disconnected. It is `errc::tls_failed` if TLS has failed with all
    ///   servers.
    /// - `errc::lost`: also when its session or its lease ends meanwhile.
    ///
    /// @par Cancellation Terminal, partial and total all withdraw, as `acquire(count)` tells.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, permits)) Token = default_token>
    [[nodiscard]] auto try_acquire(std::size_t count, Token&& token = Token())
    {
        return detail::begin<Token>(token, detail::trying<permits>(lock_of(count)));
    }

    /// Reads who has permits: each node that stands for one, oldest first. The first in the line may be among them: it
    /// makes its nodes before there is room. Its cost, completion and cancellation are those of `mutex::contenders()`.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::vector<contender>)) Token = default_token>
    [[nodiscard]] auto holders(Token&& token = Token())
    {
        return detail::begin<Token, detail::start_holders>(token, state_);
    }

    /// Reads who is in the waiting line, in its order: see `mutex::contenders()`.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::vector<contender>)) Token = default_token>
    [[nodiscard]] auto contenders(Token&& token = Token())
    {
        return detail::begin<Token, detail::start_contenders>(token, state_);
    }

    /// Asks the holder of a permit, as `holders()` lists it, to let go: see `mutex::revoke()`. A request for any of its
    /// permits reaches the holder by `permits::wait_revoked()`; it may give all of them back, or some.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto revoke(const contender& whom, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_revoke>(token, state_, whom.node);
    }

    /// Asks all who have permits at one look to let go. It takes one request, and one more for each permit.
    ///
    /// @par Completion `void(error_code, std::size_t)`: how many permits were asked for; those of the first in the line
    /// may be among them. Those who have let go meanwhile do not count. Errors and cancellation are those of
    /// `mutex::revoke()`; when one holder may not be asked, the others may have been.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::size_t)) Token = default_token>
    [[nodiscard]] auto revoke_holders(Token&& token = Token())
    {
        return detail::begin<Token, detail::start_revoke_holders>(token, state_);
    }

    /// Runs `body` with a `permits&` while they are held: see `mutex::run()`. An error of the acquire is one of
    /// `acquire(count)`.
    template <class Body> [[nodiscard]] auto run(std::size_t count, Body&& body)
    {
        return detail::run<permits>(detail::waiting<permits>(lock_of(count)), std::forward<Body>(body));
    }

    /// Runs `body` with a `permits&` while they are held, as `mutex::run()` does, but waits for the permits only until
    /// a deadline, counted from the start of the operation. `timeout` may be any duration: one too long for the clock
    /// means for ever; zero or less looks once. An error of the acquire is one of `acquire(count)`, or, at the
    /// deadline, one of `condition::not_in_time`, as `acquire(count, timeout)` tells.
    template <class Rep, class Period, class Body>
    [[nodiscard]] auto run(std::size_t count, std::chrono::duration<Rep, Period> timeout, Body&& body)
    {
        return detail::run<permits>(detail::waiting<permits>(lock_of(count), detail::saturate(timeout)),
                                    std::forward<Body>(body));
    }

    /// For `multi_lock`: `count` permits, to be acquired as one lock.
    [[nodiscard]] lockable permits_of(std::size_t count) const
    {
        return detail::access::make<lockable>(lock_of(count));
    }

private:
    [[nodiscard]] std::shared_ptr<detail::lock_state> lock_of(std::size_t count) const
    {
        return detail::permits_of(state_, count);
    }

    std::shared_ptr<detail::lock_state> state_;
};

} // namespace zklock
