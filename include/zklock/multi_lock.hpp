// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/acquirable.hpp"
#include "zklock/detail/access.hpp"
#include "zklock/detail/operations.hpp"
#include "zklock/events.hpp"
#include "zklock/guard.hpp"
#include "zklock/node.hpp"
#include "zklock/result.hpp"

#include <concepts>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace zklock {

/// Several locks that are held together: what a successful `multi_lock::acquire()` gives. Everything that is said of
/// `guard` holds for it, too: it is movable, may be empty, releases in the background when it goes away, and has the
/// same thread safety.
class [[nodiscard]] multi_guard {
public:
    using executor_type = asio::any_io_executor; ///< what `get_executor()` gives

    /// An empty guard.
    multi_guard() noexcept = default;

    /// The client's executor; the system executor for an empty one, and once the context is gone. From any thread.
    [[nodiscard]] executor_type get_executor() const { return held_.get_executor(); }

    /// Whether all of the locks are held, as far as this process can know. From any thread.
    [[nodiscard]] explicit operator bool() const& noexcept { return static_cast<bool>(held_); }
    explicit operator bool() const&& = delete; ///< give it a name: the locks are held as long as it lives

    /// The locks, in the order in which they were taken, with the node and the fencing token of each: a resource needs
    /// the token of the lock that protects it. Empty for an empty guard. From any thread; valid as long as the guard is
    /// not moved, released or destroyed.
    [[nodiscard]] const std::vector<held_lock>& locks() const& noexcept;
    const std::vector<held_lock>& locks() const&& = delete; ///< give it a name

    /// Until when all of them are ours at least: see `guard::held_until()`. From any thread.
    [[nodiscard]] lease_clock::time_point held_until() const& noexcept { return held_.held_until(); }
    lease_clock::time_point held_until() const&& = delete; ///< give it a name

    /// How the first of them was lost, if one was: see `guard::loss()`. The log, and the listener of the lock that is
    /// lost, tell which it is. From any thread.
    [[nodiscard]] std::optional<lock_loss> loss() const& noexcept { return held_.loss(); }
    std::optional<lock_loss> loss() const&& = delete; ///< give it a name

    /// Waits until one of the locks is lost: all of them count as lost then. See `guard::wait_lost()`.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto wait_lost(Token&& token = Token()) const
    {
        return held_.wait_lost(std::forward<Token>(token));
    }

    /// Waits until the holder of one of the locks is asked to let go: see `guard::wait_revoked()`.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto wait_revoked(Token&& token = Token()) const
    {
        return held_.wait_revoked(std::forward<Token>(token));
    }

    /// Does all operations of a transaction if all of the locks are still held: see `guard::commit()`. The servers look
    /// for the nodes of all of them.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, commit_result)) Token = default_token>
    [[nodiscard]] auto commit(transaction what, Token&& token = Token()) const
    {
        return held_.commit(std::move(what), std::forward<Token>(token));
    }

    /// Gives all of the locks back, in reverse, whatever becomes of each: `co_await std::move(g).release()`.
    ///
    /// @par Completion `void(error_code)`, when the last release has ended: with `errc::lost` if any of the locks had
    /// been lost, else with the first error of a release. The errors are those of `guard::release()`.
    ///
    /// @par Cancellation Terminal, partial and total only stop the waiting: the releases go on in the background.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto release(Token&& token = Token()) &&
    {
        locks_.reset();
        return std::move(held_).release(std::forward<Token>(token));
    }

private:
    friend class detail::access;
    explicit multi_guard(std::shared_ptr<detail::guard_state> state)
        : locks_(detail::locks_of(state)), held_(detail::access::make<guard>(std::move(state)))
    {
    }

    std::shared_ptr<const std::vector<held_lock>> locks_;
    guard held_;
};

namespace detail {

template <> struct delivered<multi_guard> : delivered_lock<multi_guard> {};
template <> inline guard_state* held_by(const multi_guard& g) noexcept
{
    return held_by(access::guard_of(g));
}

} // namespace detail

/// Several locks as one, of any recipes: all of them are acquired, or none.
///
///     zklock::multi_lock both(mutex(c, "/accounts/1"), shelf.owned_by(me));
///     zklock::result<zklock::multi_guard> held = co_await both.acquire(5s);
///
/// **Order.** They are taken one after the other in the order of their paths (bytewise), whatever order they were given
/// in. So programs that lock overlapping sets through this library never wait for each other in a circle; those that
/// lock single members one by one should do it in that order, too, and so should users of Curator's
/// `InterProcessMultiLock`, which takes its locks as they were given.
///
/// **All or none.** When one lock cannot be had, those that are held already are given back, in reverse, and the error
/// of the one is the result; an error of a release neither hides that one nor stops the other releases. When a held
/// lock is lost while others are waited for, all are given back and the acquire begins anew, under the same deadline.
///
/// **Members.** All members belong to one client, and have different paths. If not, or if there is no member at all,
/// every operation ends with `errc::invalid_option`; without a member that is told by a thread of the system executor,
/// unless the handler has an executor of its own.
///
/// **One deadline** is for all of them. At the deadline it ends as the acquire of the member does that it waits for:
/// with `not_connected`, too, if it was granted the member before so late that no answer about the next has come. A
/// `try_acquire()` takes and gives back the locks before the first that is busy; it ends with `errc::lost` if a lock
/// was lost meanwhile. While it `is_held()`, each member says so of itself, too; a caller that acquires the members one
/// by one does not hold this.
///
/// The idea is that of Curator's `InterProcessMultiLock`, and of Redisson's; the order is what they leave to their
/// users.
class multi_lock : public acquirable<multi_guard, lock_handle> {
public:
    /// Sends nothing: each operation tells of bad input, such as no lock at all or one twice. The clients of its
    /// members stay open as long as a handle is there. Throws std::bad_alloc.
    explicit multi_lock(const std::vector<lockable>& locks);
    /// The same, of locks that are named one by one: `multi_lock(a, b, c.shared())`. Throws std::bad_alloc.
    template <std::convertible_to<lockable>... Locks>
        requires(sizeof...(Locks) > 1)
    explicit multi_lock(const Locks&... locks) : multi_lock(std::vector<lockable>{static_cast<lockable>(locks)...})
    {
    }
};

} // namespace zklock
