// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/client.hpp"
#include "zklock/detail/operations.hpp"
#include "zklock/detail/run.hpp"
#include "zklock/detail/saturate.hpp"
#include "zklock/events.hpp"
#include "zklock/guard.hpp"
#include "zklock/lock_options.hpp"
#include "zklock/lockable.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zklock {

/// A lock with readers and writers: a writer excludes all others, readers exclude writers only.
///
/// **Order.** All wait in one queue, in the order in which the servers numbered them: first come, first served. A
/// reader waits for the writers before it and for nobody else; a writer waits for all before it. So a reader that comes
/// after a waiting writer waits for that writer, and neither side can starve the other. When a writer releases, all
/// readers up to the next writer have the lock at once.
///
/// **Fencing tokens.** A writer's token is larger than those of all who held before it, a reader's is larger than those
/// of all writers before it. Of two readers that hold together either may have the larger one.
///
/// **Downgrade** makes a reader of a writer that holds, and lets no writer in between. **Upgrade** does not exist: two
/// readers that tried would wait for each other for ever.
///
/// **Interoperation.** Paths can be shared with Curator's `InterProcessReadWriteLock` or kazoo's `ReadLock` and
/// `WriteLock`, see `shared_mutex_options::names`, but not with both at the same time, because these do not look at
/// each other's nodes. (A writer that downgrades through Curator before 5.5.0 lets other writers in: CURATOR-621.) A
/// `mutex` of another client on the path acts as a writer.
///
/// It is a handle to shared state and cheap to copy; a client may have any number per path, and each acquire is a
/// contender of its own: it is not re-entrant (`owned_shared_mutex` is). See `mutex` for paths and options and `client`
/// for executors, lifetimes and the errors that every operation can end with. Thread safety: distinct objects: safe.
/// One object: not safe, except for `path()`, `exclusive()`, `shared()`, `is_held()`, `is_held_shared()`,
/// `last_timeout()` and `get_executor()`.
///
/// The idea, and the names of the nodes, are those of Curator's `InterProcessReadWriteLock`.
class shared_mutex {
public:
    using executor_type = asio::any_io_executor; ///< what `get_executor()` gives

    /// Sends nothing: each operation tells of bad input. The client stays open as long as a handle of the lock is
    /// there. Throws std::bad_alloc.
    shared_mutex(const client& c, std::string path, shared_mutex_options options = {});

    /// The client's executor; the system executor once its context is gone. From any thread.
    [[nodiscard]] executor_type get_executor() const { return detail::executor_of(writers_); }
    /// The lock's path; valid as long as this object or a copy of it is there. From any thread.
    [[nodiscard]] const std::string& path() const noexcept { return detail::path_of(writers_); }
    /// What the last acquire that ended at its deadline, a reader's or a writer's, had waited for: see
    /// `mutex::last_timeout()`.
    [[nodiscard]] std::optional<wait_report> last_timeout() const { return detail::last_timeout_of(writers_); }
    /// Whether an acquire of this object, or of a copy of it, holds the lock alone: see `mutex::is_held()`. From any
    /// thread.
    [[nodiscard]] bool is_held() const noexcept { return detail::count_held(writers_) != 0; }
    /// Whether one holds it as a reader, perhaps after a downgrade: see `mutex::is_held()`. From any thread.
    [[nodiscard]] bool is_held_shared() const noexcept { return detail::count_held(readers_, true) != 0; }

    // --- writers -----------------------------------------------------------------------------------------------------

    /// Waits until it can hold the lock alone, for as long as it takes. Completion and cancellation are those of
    /// `mutex::acquire()`.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, guard)) Token = default_token>
    [[nodiscard]] auto acquire(Token&& token = Token())
    {
        return detail::begin<Token>(token, detail::waiting<guard>(writers_));
    }

    /// Waits until it can hold the lock alone, or until a deadline, counted from the start of the operation. Completion
    /// and cancellation are those of `mutex::acquire()`, with one of `condition::not_in_time` at the deadline.
    /// `timeout` may be any duration: one too long for the clock means for ever; zero or less looks once.
    template <class Rep, class Period, BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, guard)) Token = default_token>
    [[nodiscard]] auto acquire(std::chrono::duration<Rep, Period> timeout, Token&& token = Token())
    {
        return detail::begin<Token>(token, detail::waiting<guard>(writers_, detail::saturate(timeout)));
    }

    /// Takes the lock if nobody has it or waits for it. Completion and cancellation are those of `mutex::acquire()`,
    /// with `errc::busy` and `errc::not_connected` as `mutex::try_acquire()` has them.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, guard)) Token = default_token>
    [[nodiscard]] auto try_acquire(Token&& token = Token())
    {
        return detail::begin<Token>(token, detail::trying<guard>(writers_));
    }

    /// Runs `body` while it holds the lock alone: see `mutex::run()`.
    template <class Body> [[nodiscard]] auto run(Body&& body)
    {
        return detail::run<guard>(detail::waiting<guard>(writers_), std::forward<Body>(body));
    }

    /// Runs `body` while it holds the lock alone, as `mutex::run()` does, but waits for the lock only until a deadline,
    /// counted from the start of the operation. `timeout` may be any duration: one too long for the clock means for
    /// ever; zero or less looks once. An error of the acquire is one of `mutex::acquire()`, or one of
    /// `condition::not_in_time` at the deadline.
    template <class Rep, class Period, class Body>
    [[nodiscard]] auto run(std::chrono::duration<Rep, Period> timeout, Body&& body)
    {
        return detail::run<guard>(detail::waiting<guard>(writers_, detail::saturate(timeout)),
                                  std::forward<Body>(body));
    }

    // --- readers -----------------------------------------------------------------------------------------------------

    /// Waits until all writers before it are gone, for as long as it takes.
    ///
    /// @par Completion `void(error_code, guard)`, with the errors of `mutex::acquire()`. The guard is a reader's: it is
    /// like any other, but other readers may hold one at the same time. Past `client_options::node_budget`, readers,
    /// too, queue in the client until others of its nodes go.
    ///
    /// @par Cancellation Terminal, partial and total all withdraw, as `mutex::acquire()` tells.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, guard)) Token = default_token>
    [[nodiscard]] auto acquire_shared(Token&& token = Token())
    {
        return detail::begin<Token>(token, detail::waiting<guard>(readers_));
    }

    /// Waits until all writers before it are gone, or until a deadline, counted from the start of the operation.
    /// Completion and cancellation are those of `mutex::acquire()`, with one of `condition::not_in_time` at the
    /// deadline. `timeout` may be any duration: one too long for the clock means for ever; zero or less looks once.
    template <class Rep, class Period, BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, guard)) Token = default_token>
    [[nodiscard]] auto acquire_shared(std::chrono::duration<Rep, Period> timeout, Token&& token = Token())
    {
        return detail::begin<Token>(token, detail::waiting<guard>(readers_, detail::saturate(timeout)));
    }

    /// Joins the readers if no writer has the lock or waits for it. When it can see that one does, it ends with
    /// `errc::busy`, and nothing is written to the servers. It also ends with `errc::busy` when the client has no room
    /// for a node (`client_options::node_budget`), and with `errc::not_connected` while disconnected. Completion and
    /// cancellation are those of `mutex::acquire()`.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, guard)) Token = default_token>
    [[nodiscard]] auto try_acquire_shared(Token&& token = Token())
    {
        return detail::begin<Token>(token, detail::trying<guard>(readers_));
    }

    /// Runs `body` while it holds the lock as a reader: see `mutex::run()`.
    template <class Body> [[nodiscard]] auto run_shared(Body&& body)
    {
        return detail::run<guard>(detail::waiting<guard>(readers_), std::forward<Body>(body));
    }

    /// Runs `body` while it holds the lock as a reader, as `mutex::run()` does, but waits for the lock only until a
    /// deadline, counted from the start of the operation. `timeout` may be any duration: one too long for the clock
    /// means for ever; zero or less looks once. An error of the acquire is one of `mutex::acquire()`, or one of
    /// `condition::not_in_time` at the deadline.
    template <class Rep, class Period, class Body>
    [[nodiscard]] auto run_shared(std::chrono::duration<Rep, Period> timeout, Body&& body)
    {
        return detail::run<guard>(detail::waiting<guard>(readers_, detail::saturate(timeout)),
                                  std::forward<Body>(body));
    }

    // --- from one to the other ---------------------------------------------------------------------------------------

    /// Makes a reader of a writer that holds the lock: `co_await lock.downgrade(std::move(g))`. No writer gets in
    /// between, and readers that wait for no other writer are let in. The guard that is given is empty after the call.
    ///
    /// @par Completion `void(error_code, guard)`, exactly once, on the handler's associated executor (by default the
    /// client's own), never inside this call. The guard that comes back says what has become of the lock:
    /// - success: it is a reader's. It has the fencing token of the writer's, and another node. Operations that wait
    ///   for the loss of the lock (`guard::wait_lost()`) go on waiting.
    /// - `errc::lost`, `errc::closed`, `errc::authentication_failed`: it is empty; the lock was lost before.
    /// - `errc::not_owner`: it is the guard that was given, unchanged: it is empty, a reader's, or of another lock.
    /// - `errc::access_denied`, `errc::server_error`: the servers refused. It is the guard that was given, and still
    ///   holds the lock alone.
    /// - `asio::error::operation_aborted`: it was cancelled. The guard is empty, and the lock is released in the
    ///   background.
    ///
    /// Tokens that turn an error into a result or an exception (the default one, `use_awaitable`) drop the guard: the
    /// lock is then released. `asio::as_tuple(asio::use_awaitable)` gives error and guard.
    ///
    /// While disconnected it waits for the next connection, or for the end of the lease.
    ///
    /// @par Cancellation Terminal, partial and total all end it at once and give the lock up. With a lazy token
    /// (`use_awaitable`, `deferred`) that is never started, the lock is given up, too.
    ///
    /// It takes one request: the reader's node is made and the writer's deleted in one transaction. It takes two more
    /// if others have written on the writer's node: what they wrote goes along, so that a request to let go still
    /// counts (`guard::wait_revoked()`). The idea of a reader that takes over the writer's number is that of Curator's
    /// fix of CURATOR-621.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, guard)) Token = default_token>
    [[nodiscard]] auto downgrade(guard&& held, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_downgrade>(token, writers_, detail::take(held));
    }

    /// Refuses to make a writer of a reader, which goes on holding the lock. It is for callers who do not know which of
    /// the two they hold. A reader who has to write releases and acquires anew, and looks again at what it had read.
    ///
    /// @par Completion `void(error_code)`, exactly once, on the handler's associated executor (by default the client's
    /// own), never inside this call, and without waiting for anything.
    /// - success: the guard is a writer's already. Nothing was done.
    /// - `errc::not_upgradable`: the guard is a reader's.
    /// - `errc::lost`: the writer's lock was lost. `errc::not_owner`: the guard is empty or of another lock.
    ///
    /// @par Cancellation It has no effect: the operation is over before it could have.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto upgrade(const guard& held, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_ready>(token, writers_, detail::upgradable(writers_, held));
    }

    // --- others ------------------------------------------------------------------------------------------------------

    /// Reads who holds the lock and who waits, in the order of the queue: see `mutex::contenders()`.
    /// `contender::shared` tells the readers.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::vector<contender>)) Token = default_token>
    [[nodiscard]] auto contenders(Token&& token = Token())
    {
        return detail::begin<Token, detail::start_contenders>(token, writers_);
    }

    /// Asks a reader or a writer, as `contenders()` lists it, to let go: see `mutex::revoke()`. If the writer has
    /// become a reader since, the request goes to its new node, which costs one request more.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto revoke(const contender& whom, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_revoke>(token, writers_, whom.node);
    }

    /// Asks all who hold the lock at one look to let go: the writer, or all readers up to the first writer that waits.
    /// It takes one request, and one more for each of them.
    ///
    /// @par Completion `void(error_code, std::size_t)`: how many were asked. Those who have let go meanwhile do not
    /// count, nor are those asked who come after them. Errors and cancellation are those of `mutex::revoke()`; when one
    /// holder may not be asked, the others may have been.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::size_t)) Token = default_token>
    [[nodiscard]] auto revoke_holders(Token&& token = Token())
    {
        return detail::begin<Token, detail::start_revoke_holders>(token, writers_);
    }

    /// For `multi_lock`: this lock, to be acquired as a writer, or as a reader.
    [[nodiscard]] lockable exclusive() const { return detail::access::make<lockable>(writers_); }
    /// The same, as a reader.
    [[nodiscard]] lockable shared() const { return detail::access::make<lockable>(readers_); }

private:
    using lock = std::shared_ptr<detail::lock_state>;

    lock writers_; ///< the lock, as writers acquire it
    lock readers_; ///< the same lock, as readers acquire it
};

} // namespace zklock
