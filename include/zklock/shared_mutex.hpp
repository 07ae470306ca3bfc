// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/acquirable.hpp"
#include "zklock/client.hpp"
#include "zklock/detail/access.hpp"
#include "zklock/detail/operations.hpp"
#include "zklock/guard.hpp"
#include "zklock/lock_options.hpp"
#include "zklock/result.hpp"

#include <memory>
#include <string>

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
/// The lock itself is acquired by writers; `shared()` is what readers acquire. A client may have any number per path,
/// and each acquire is a contender of its own: it is not re-entrant (`owned_shared_mutex` is).
///
/// The idea, and the names of the nodes, are those of Curator's `InterProcessReadWriteLock`.
class shared_mutex : public acquirable<guard> {
public:
    /// Sends nothing: each operation tells of bad input. The client stays open as long as a handle of the lock is
    /// there. Throws std::bad_alloc.
    shared_mutex(const client& c, std::string path, shared_mutex_options options = {});

    /// The lock as readers acquire it: `co_await book.shared().acquire(5s)`. Its `is_held()` asks whether one of them
    /// holds it, perhaps after a downgrade; that of the lock itself, whether a writer does.
    ///
    /// A reader waits until all writers before it are gone, and other readers may hold a guard at the same time. Past
    /// `client_options::node_budget`, readers, too, queue in the client until others of its nodes go. A `try_acquire()`
    /// is `busy` then, and when a writer has the lock or waits for it.
    [[nodiscard]] acquirable<guard> shared() const { return detail::access::make<acquirable<guard>>(readers_); }

    /// Makes a reader of a writer that holds the lock: `co_await lock.downgrade(std::move(g))`. No writer gets in
    /// between, and readers that wait for no other writer are let in. The guard that is given is empty once that has
    /// begun.
    ///
    /// @par Completion `void(error_code, guard)`, exactly once, on the handler's associated executor (by default the
    /// client's own), never inside this call. The guard that comes back says what has become of the lock:
    /// - success: it is a reader's. It has the fencing token of the writer's, and another node. Operations that wait
    ///   for the loss of the lock (`guard::wait_lost()`) go on waiting.
    /// - `errc::lost`, `errc::closed`, `errc::authentication_failed`: it is empty; the lock was lost before.
    /// - `errc::not_owner`: it is empty, and the guard that was given stays as it is: empty, a reader's, of another
    ///   lock, or a hold of an `owned_shared_mutex`.
    /// - `errc::access_denied`, `errc::server_error`: the servers refused. It is the writer's, and still holds the lock
    ///   alone.
    /// - `asio::error::operation_aborted`: it was cancelled. The guard is empty, and the lock is released in the
    ///   background.
    ///
    /// Tokens that turn an error into a result or an exception (the default one, `use_awaitable`) drop the guard: the
    /// lock is then released. `asio::as_tuple(asio::use_awaitable)` gives error and guard.
    ///
    /// While disconnected it waits for the next connection, or for the end of the lease.
    ///
    /// @par Cancellation Terminal, partial and total all end it at once and give the lock up.
    ///
    /// It takes one request: the reader's node is made and the writer's deleted in one transaction. It takes two more
    /// if others have written on the writer's node: what they wrote goes along, so that a request to let go still
    /// counts (`guard::wait_revoked()`). The idea of a reader that takes over the writer's number is that of Curator's
    /// fix of CURATOR-621.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, guard)) Token = default_token>
    [[nodiscard]] auto downgrade(guard&& held, Token&& token = Token()) const
    {
        return detail::begin<Token, detail::start_downgrade>(token, state(),
                                                             std::weak_ptr(detail::access::state(held)));
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
    [[nodiscard]] auto upgrade(const guard& held, Token&& token = Token()) const
    {
        return detail::begin<Token, detail::start_upgrade>(token, state(), std::weak_ptr(detail::access::state(held)));
    }

private:
    std::shared_ptr<detail::lock_state> readers_; ///< the same lock, as readers acquire it
};

} // namespace zklock
