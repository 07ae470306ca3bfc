// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/acquirable.hpp"
#include "zklock/detail/access.hpp"
#include "zklock/detail/operations.hpp"
#include "zklock/events.hpp"
#include "zklock/guard.hpp"
#include "zklock/result.hpp"

#include <concepts>
#include <vector>

namespace zklock {

/// Several locks that are held together: what a successful `multi_lock::acquire()` gives. All that is said of `guard`
/// holds for it, too. It is held while all of the locks are, and until `held_until()` all of them are ours at least.
/// One that is lost makes all count as lost; the log, and the listener of that lock, tell which it is. A commit looks
/// for the nodes of all. `node()` is empty and `fencing_token()` is 0: `locks()` has those of each.
///
/// They are released in reverse, whatever becomes of each. That completes when the last release has ended: with
/// `errc::lost` if any of the locks had been lost, else with the first error of a release.
class [[nodiscard]] multi_guard : public guard {
public:
    /// An empty guard.
    multi_guard() noexcept = default;

    /// The locks, in the order in which they were taken, with the node and the fencing token of each: a resource needs
    /// the token of the lock that protects it. Empty for an empty guard. From any thread; valid as long as the guard is
    /// not moved, released or destroyed.
    [[nodiscard]] const std::vector<held_lock>& locks() const& noexcept { return detail::locks_of(state()); }
    const std::vector<held_lock>& locks() const&& = delete; ///< give it a name

private:
    friend class detail::access;
    using guard::guard;
};

namespace detail {

template <> struct delivered<multi_guard> : delivered_lock<multi_guard> {};

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
