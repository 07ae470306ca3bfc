// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/acquirable.hpp"
#include "zklock/client.hpp"
#include "zklock/detail/access.hpp"
#include "zklock/detail/operations.hpp"
#include "zklock/events.hpp"
#include "zklock/guard.hpp"
#include "zklock/lock_options.hpp"
#include "zklock/result.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace zklock {

/// Permits that are held: what a successful `semaphore::acquire()` gives. All that is said of `guard` holds for this
/// handle, too; it is held if there are some, and they are.
///
/// **Loss.** The permits of one handle are held and lost together: when others delete the node of one, all are lost,
/// and the rest is given back. Permits that were split off are lost by themselves. Waits for the loss also end, with
/// `operation_aborted`, when the last has been released or split off; a commit ends with `errc::not_owner` then.
///
/// **Nodes.** `node()` is that of the first permit, which is the last to be released. A commit looks for the node of
/// each permit that is here when it is sent: the length of the request grows with their number.
///
/// **The fencing token** is the same for all permits of one acquire, and larger than that of every acquire, of any
/// client, that was granted before it on the path. It is the token by which the acquire held the lock of the waiting
/// line. It tells acquires apart, and in which order they were granted. Unlike a mutex's token, it cannot by its size
/// keep out a holder that has lost its permits, because holders with smaller tokens may be there by right. A resource
/// can do that if it keeps a list of its users' tokens, from which those of lost holders are struck out.
///
/// **Release** completes when the last node is gone, with `errc::lost` if others had deleted the node of any permit. A
/// permit whose node the servers refuse to delete stays in use, for acquires of this client, too, until that is done.
class [[nodiscard]] permits : public guard {
public:
    /// An empty handle, of no permits.
    permits() noexcept = default;

    /// How many there are: those acquired, less those that were released or split off. Lost ones count, too. From any
    /// thread.
    [[nodiscard]] std::size_t count() const& noexcept { return detail::permit_count(state()); }
    std::size_t count() const&& = delete; ///< give them a name

    using guard::release;

    /// Gives `count` of them back, and keeps the others.
    ///
    /// @par Completion `void(error_code)`, when their nodes are gone, with the errors of `guard::release()`. If `count`
    /// is 0, or more than there are, nothing happens, and it ends with `errc::invalid_option`. If this is empty, it
    /// ends with `errc::not_owner`, told by the system executor: see `guard::wait_lost()`. When none are left, this is
    /// not held any more.
    ///
    /// @par Cancellation Terminal, partial and total only stop the waiting: the release goes on in the background.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto release(std::size_t count, Token&& token = Token()) &
    {
        return detail::begin<Token, detail::start_partial_release>(token, detail::client_of(state()),
                                                                   std::weak_ptr(state()), count);
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
        return detail::begin<Token, detail::start_split>(token, detail::client_of(state()), std::weak_ptr(state()),
                                                         count);
    }

private:
    friend class detail::access;
    using guard::guard;
};

namespace detail {

template <> struct delivered<permits> : delivered_lock<permits> {};

} // namespace detail

/// A number of permits in ZooKeeper, named by its path: all programs that use the path together hold no more of them at
/// once than there are.
///
///     zklock::semaphore gate(c, "/gates/export", 8);
///     zklock::result<zklock::permits> held = co_await gate.permits_of(3).acquire(5s);
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
/// The semaphore itself is acquired for one permit, `permits_of(3)` for three.
///
/// The idea, and the nodes, are those of Curator's `InterProcessSemaphoreV2`, which calls a permit in use a lease: path
/// and shared count can be shared with it; or those of kazoo's `Semaphore` (`semaphore_options::names`).
class semaphore : public acquirable<permits> {
public:
    /// Sends nothing: each operation tells of bad input. The client stays open as long as a handle of the lock is
    /// there. `permits`: see `semaphore_options::permits`. Throws std::bad_alloc.
    semaphore(const client& c, std::string path, unsigned permits);
    /// The same, with more options.
    semaphore(const client& c, std::string path, semaphore_options options);

    /// So many permits, to be acquired as one. Acquires end with `errc::invalid_option` if that is none, or more than
    /// there are (with a shared count they wait for them instead); if other semaphores of the client on this path have
    /// other options; if the path's data says another number (`check_permits`), or the shared count's node holds none.
    ///
    /// A `try_acquire()` is `busy` if there are not enough, or if somebody waits for some, or takes some at this
    /// moment; it ends with `errc::lost` also if its session or its lease ends meanwhile. The holder that
    /// `last_timeout()` names holds permits, and may be one of several. `is_held()` is whether acquires of this
    /// semaphore hold any.
    [[nodiscard]] acquirable<permits> permits_of(std::size_t count) const
    {
        return detail::access::make<acquirable<permits>>(detail::permits_of(state(), count));
    }

    /// How many permits the acquires of this object, and of its copies, hold together, as far as this process can know;
    /// those that were split off count, lost ones do not. What `is_held()` says of guards holds for `permits`.
    [[nodiscard]] std::size_t permits_held() const noexcept { return detail::count_held(state()); }

    /// Reads who has permits: each node that stands for one, oldest first. The first in the line may be among them: it
    /// makes its nodes before there is room. Its cost, completion and cancellation are those of `contenders()`.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::vector<contender>)) Token = default_token>
    [[nodiscard]] auto holders(Token&& token = Token()) const
    {
        return detail::begin<Token, detail::start_holders>(token, state());
    }
};

} // namespace zklock
