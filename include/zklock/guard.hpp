// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/access.hpp"
#include "zklock/detail/node_operations.hpp"
#include "zklock/detail/operations.hpp"
#include "zklock/events.hpp"
#include "zklock/node.hpp"
#include "zklock/result.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace zklock {

/// A lock that is held: what a successful acquire gives. It is movable, not copyable, and may be empty (moved from,
/// released, or made by the default constructor).
///
/// **Release.** `std::move(g).release()` tells when the lock is free. A guard that is destroyed or assigned over
/// releases in the background: the delete of its node is queued, and repeated until it succeeded or the session is
/// over. A guard never blocks.
///
/// **Loss.** A lock can be lost while the guard exists: the session may expire while the servers cannot be reached,
/// somebody may delete its node, the client may be closed. The guard says so at the latest at `held_until()`, which is
/// before the servers can give the lock to anybody else, if the clocks' drift is within the stated bound. From then on
/// it stays lost. What must not happen twice is protected by `fencing_token()`, not by a look at the guard.
///
/// **Lifetime.** A guard does not keep its client open. When the client closes, its guards are lost. A guard may
/// outlive the execution context of its client: it then counts as lost, and does nothing when destroyed.
///
/// **Kinds.** What a semaphore, a `multi_lock` or an election gives derives from this: a guard that is made from one
/// takes over all that is held, and the other is empty then.
///
/// **Thread safety.** Distinct guards: safe. One guard: its const member functions may be called from any threads at
/// once, with each other; moving, assigning, releasing and destroying are for one thread at a time, and not at the same
/// time as anything else.
class [[nodiscard]] guard {
public:
    using executor_type = asio::any_io_executor; ///< what `get_executor()` gives

    /// An empty guard.
    guard() noexcept = default;
    guard(guard&&) noexcept = default;            ///< the other is empty then
    guard& operator=(guard&&) noexcept = default; ///< what it held before is released in the background
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    ~guard() = default; ///< releases in the background, from the shared state's own destructor

    /// The client's executor; the system executor for an empty guard and for one that outlived its context. From any
    /// thread.
    [[nodiscard]] executor_type get_executor() const { return detail::executor_of(state_); }

    /// Whether the lock is held, as far as this process can know: not empty, not lost, and the end of the lease is more
    /// than `client_options::loss_notice` away. It looks at the clock, not at the network. From any thread.
    [[nodiscard]] explicit operator bool() const& noexcept;
    explicit operator bool() const&& = delete; ///< give the guard a name: the lock is held as long as it lives

    /// Full path of the lock's node, below the client's chroot. A transaction of the user's own can check that the node
    /// still exists. Empty for an empty guard. From any thread; valid as long as the guard is not moved or destroyed.
    [[nodiscard]] const std::string& node() const& noexcept;
    const std::string& node() const&& = delete; ///< give the guard a name

    /// A positive number that is larger for each grant of a path than for all grants before it, of all clients. A
    /// resource that remembers the largest it has seen, and refuses smaller ones, is safe from a holder that has lost
    /// its lock without noticing. 0 for an empty guard. From any thread.
    [[nodiscard]] std::int64_t fencing_token() const& noexcept;
    std::int64_t fencing_token() const&& = delete; ///< give the guard a name

    /// Until when the lock is ours at least, under the stated assumptions: the end of the lease. It moves on while the
    /// servers answer. It is `time_point()` for an empty guard, and once the lock is lost. The loss is declared
    /// `client_options::loss_notice` earlier. The clock goes on while the machine is suspended. From any thread.
    [[nodiscard]] lease_clock::time_point held_until() const& noexcept;
    lease_clock::time_point held_until() const&& = delete; ///< give the guard a name

    /// How the lock was lost, if it was: whenever a guard that is not empty says that the lock is not held, this says
    /// why. Nothing for an empty guard, and while the lock is held. A lease that ends is told here by the clock, before
    /// the client has come to notice it. The listener's event and the log tell the same, with path, node and token.
    /// (Somebody who asks the holder to let go takes nothing from it: see `wait_revoked()`.) From any thread.
    [[nodiscard]] std::optional<lock_loss> loss() const& noexcept;
    std::optional<lock_loss> loss() const&& = delete; ///< give the guard a name

    /// Waits until the lock is lost. The wait does not keep the lock: the guard may go away meanwhile.
    ///
    /// @par Completion `void(error_code)`, exactly once, on the handler's associated executor (by default the client's
    /// own), never inside this call. Several waits may be pending.
    /// - success: the lock is lost, now or since before the call: a loss stays.
    /// - `asio::error::operation_aborted`: it was released, the guard was destroyed, or the wait was cancelled.
    /// - `errc::not_owner`: the guard is empty. That is told by a thread of the system executor, unless the handler has
    ///   an executor of its own.
    ///
    /// @par Cancellation Terminal, partial and total all end this wait, and nothing else.
    ///
    /// The idea of a signal that is latched, and silent at a normal release, is that of `HandleLostToken` in
    /// madelson/DistributedLock.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto wait_lost(Token&& token = Token()) const
    {
        return detail::begin<Token, detail::start_wait_lost>(token, detail::client_of(state_), std::weak_ptr(state_));
    }

    /// Waits until somebody asks the holder to let go: `queued_lock::revoke()`, or Curator's `Revoker`. It is a
    /// request: what to do about it, and when, is the holder's business. The wait does not keep the lock.
    ///
    /// The node is watched from the first wait on; that costs one request, if it was not watched already. A request
    /// that came before the wait, even before the grant, is seen, for it has replaced the node's data. While
    /// disconnected the client hears nothing; it finds at the next connection what was asked meanwhile.
    ///
    /// @par Completion `void(error_code)`, exactly once, on the handler's associated executor (by default the client's
    /// own), never inside this call. Several waits may be pending.
    /// - success: somebody asked, now or before the call: a request stays.
    /// - `errc::lost`: the lock was lost, before or meanwhile.
    /// - `asio::error::operation_aborted`: it was released, the guard was destroyed, or the wait was cancelled.
    /// - `errc::not_owner`: the guard is empty. That is told by a thread of the system executor, unless the handler has
    ///   an executor of its own.
    ///
    /// @par Cancellation Terminal, partial and total all end this wait, and nothing else.
    ///
    /// A request is written on a node. Where contenders pass a node on (`mutex_options::linger`, `cohort`), they stop
    /// doing so once they notice the request; until then it reaches the next contender that uses the node. The idea,
    /// and the request's form, are those of Curator's `Revocable`.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto wait_revoked(Token&& token = Token()) const
    {
        return detail::begin<Token, detail::start_wait_revoked>(token, detail::client_of(state_),
                                                                std::weak_ptr(state_));
    }

    /// Does all operations of a transaction if the lock is still held, or none: one request, in which the servers look
    /// for the lock's node first. So nothing can be written in ZooKeeper after the loss of the lock, however late the
    /// loss is noticed here: neither paused processes nor slow networks nor clocks are able to break that.
    ///
    ///     zklock::transaction t;
    ///     t.set("/stock", std::to_string(left - 1));
    ///     t.create("/orders/order-", buyer, zklock::node_kind::persistent_sequential);
    ///     zklock::result<zklock::commit_result> sold = co_await held.commit(t);
    ///
    /// The node is looked for by its name, which no other contender has: its version may be any. (A program that has
    /// the permission to create a node of that very name could deceive the check.) A node that is used for several
    /// grants of this client (`mutex_options::linger`, `cohort`) may outlive the guard: so after the release nothing is
    /// sent. A commit that was sent before the release, or before a downgrade, is executed before it. A commit is sent
    /// at once, or as soon as there is a connection and the client's window (see `client`, Nodes) has room. A commit
    /// that still waits for that when the guard is released, or the downgrade is sent, ends with `errc::not_owner`;
    /// otherwise it waits as long as the lock is held.
    ///
    /// @par Completion `void(error_code, commit_result)`, exactly once, on the handler's associated executor (by
    /// default the client's own), never inside this call.
    /// - success: everything was done, and the lock was held. A transaction without operations asks only whether it is.
    /// - `errc::lost`: nothing was done, for the lock is lost. If the servers said so, the guard counts as lost, too,
    ///   before this completes.
    /// - `errc::no_node`, `errc::node_exists`, `errc::bad_version`, `errc::not_empty`, `errc::access_denied`,
    ///   `errc::invalid_path` (below an ephemeral node), `errc::server_error`: nothing was done, for one operation was
    ///   refused. `commit_result::failed` tells which; `asio::as_tuple(asio::use_awaitable)` gives it with the error.
    /// - `errc::outcome_unknown`: it was sent, and its answer lost. It may have been done as a whole, or not at all; it
    ///   is never repeated. What the client reads after that shows which of the two it is.
    /// - `errc::invalid_path`, `errc::invalid_option` (it is longer than the servers' default limit of 1 MiB, checks
    ///   included, or creates a container): nothing was sent.
    /// - `errc::not_owner`: the guard is empty (told by the system executor: see `wait_lost()`); or the guard was
    ///   released, or its downgrade sent, before the commit could be sent; or a lazy token started the commit after the
    ///   guard's downgrade had begun.
    /// - `asio::error::operation_aborted`: cancelled, and it was not and will not be sent.
    /// - `errc::authentication_failed`.
    ///
    /// @par Cancellation Terminal, partial and total end it at once. A commit that was sent cannot be taken back: it
    /// then ends with `errc::outcome_unknown`.
    ///
    /// That a write and the check of the lock's node can share a `multi` is ZooKeeper's own idea.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, commit_result)) Token = default_token>
    [[nodiscard]] auto commit(transaction what, Token&& token = Token()) const
    {
        return detail::begin<Token, detail::start_guarded_commit>(token, detail::client_of(state_),
                                                                  std::weak_ptr(state_), std::move(what));
    }

    /// Gives the lock back: `co_await std::move(g).release()`. The guard is empty once that has begun.
    ///
    /// A waiter of the same client has the lock before this completes; one of another client has it as soon as the
    /// servers have the delete. While disconnected, the delete waits for the next connection, or for the end of the
    /// session. This waits for neither once the session should be over; the delete stays due.
    ///
    /// @par Completion `void(error_code)`, exactly once, on the handler's associated executor (by default the client's
    /// own), never inside this call.
    /// - success: the node is gone, or its session is, or should be; or the node is passed on to the next acquire of
    ///   this client, or kept for it (`mutex_options::cohort`, `linger`).
    /// - `errc::lost`: the lock had been lost before it could be released. Its lease or its session had ended; or
    ///   others had deleted its node: then the servers answer that there is none to delete. The listener is told
    ///   `lost` then.
    ///
    /// In some cases it is not found out that others had deleted the node, and this ends without an error: the
    /// connection ends before the answer to the delete, which may have been done; the session ends before the delete is
    /// sent; the delete is refused, for the servers look at the permission before they look for the node; or the node
    /// is passed on or kept, so that the servers are not asked. A `commit()` before the release finds it out.
    ///
    /// Other errors:
    /// - `errc::access_denied`, `errc::server_error`: the servers refused to delete the node; the access list of the
    ///   lock's path forbids it, say. The guard is empty all the same, and its owner holds nothing. Acquires of this
    ///   client do not wait for the node. Those of all others do, as long as it is there: the delete is asked for again
    ///   each second, until it is done or the session is over. The listener is told `released` then.
    /// - `errc::closed`: the client was closed meanwhile; the node ends with the session.
    /// - `errc::authentication_failed`: the servers have refused the credentials meanwhile.
    /// - `errc::not_owner`: the guard was empty, or gone before this began (told by the system executor: see
    ///   `wait_lost()`).
    /// - `asio::error::operation_aborted`: cancelled.
    ///
    /// @par Cancellation Terminal, partial and total only stop the waiting: the release goes on in the background.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto release(Token&& token = Token()) &&
    {
        return detail::begin<Token, detail::start_release>(token, detail::client_of(state_), std::weak_ptr(state_));
    }

protected:
    /// What that state stands for.
    explicit guard(std::shared_ptr<detail::guard_state> state) noexcept : state_(std::move(state)) {}
    /// What is held.
    [[nodiscard]] const std::shared_ptr<detail::guard_state>& state() const noexcept { return state_; }

private:
    friend class detail::access;

    std::shared_ptr<detail::guard_state> state_;
};

namespace detail {

template <> struct delivered<guard> : delivered_lock<guard> {};
inline guard_state* held_by(const guard& g) noexcept
{
    return access::state(g).get();
}

} // namespace detail
} // namespace zklock
