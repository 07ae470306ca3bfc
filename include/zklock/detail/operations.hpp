// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/acquire_mode.hpp"
#include "zklock/detail/built_alike.hpp"
#include "zklock/detail/initiation.hpp"
#include "zklock/events.hpp"
#include "zklock/result.hpp"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// The start functions of the operations on clients, locks and guards; initiation.hpp tells what those are. Each lets go
// of its state before the operation ends.

namespace zklock {
class guard;
class multi_guard;
class permits;
} // namespace zklock

namespace zklock::detail {

class client_handle; ///< what clients and locks share: the client closes when the last one goes
class lock_state;    ///< what the handles of one lock share, of any recipe; keeps the client open
class guard_state;
class client_state;

using void_handler = asio::any_completion_handler<void(error_code)>;
template <class Value> using handler_of = asio::any_completion_handler<void(error_code, Value)>;
using guard_handler = handler_of<guard>;
using count_handler = handler_of<std::size_t>;
using contenders_handler = handler_of<std::vector<contender>>;
using permits_handler = handler_of<permits>;

void start_wait_connected(std::shared_ptr<client_handle>, lease_clock::duration timeout, void_handler);
void start_close(std::shared_ptr<client_handle>, void_handler);
/// `Handle` is what the grant is handed over as: guard, multi_guard or permits. A null lock cannot be acquired:
/// `errc::invalid_option`.
template <class Handle>
void start_acquire(std::shared_ptr<lock_state>, acquire_mode, std::optional<lease_clock::duration> timeout,
                   handler_of<Handle>);
/// The same re-entrant lock, for that owner.
[[nodiscard]] std::shared_ptr<lock_state> owned_by(const std::shared_ptr<lock_state>&, std::uint64_t owner);
/// Releases the guard if it is a hold of that owner on that lock; else it ends with `errc::not_owner`, told through the
/// lock's client.
void start_owned_release(std::shared_ptr<lock_state>, std::weak_ptr<guard_state>, std::uint64_t owner, void_handler);
/// From its start on a guard that fits is empty; another stays as it is.
void start_downgrade(std::shared_ptr<lock_state>, std::weak_ptr<guard_state>, guard_handler);
/// Whether the guard holds that lock alone, or why it never will.
void start_upgrade(std::shared_ptr<lock_state>, std::weak_ptr<guard_state>, void_handler);
/// An operation whose result is known already: it only completes, on the lock's client.
void start_ready(std::shared_ptr<lock_state>, error_code result, void_handler);
[[nodiscard]] const std::vector<held_lock>& locks_of(const std::shared_ptr<guard_state>&) noexcept;
void start_contenders(std::shared_ptr<lock_state>, contenders_handler);
void start_holders(std::shared_ptr<lock_state>, contenders_handler);
void start_revoke(std::shared_ptr<lock_state>, std::string node, void_handler);
void start_revoke_holders(std::shared_ptr<lock_state>, count_handler);

/// One call of election::lead().
class candidacy;
using leader_handler = handler_of<std::optional<contender>>;
[[nodiscard]] std::shared_ptr<candidacy> stand_for(const std::shared_ptr<lock_state>& election);
/// The lock that it acquires, term by term; an acquire ends with `operation_aborted` once it has resigned.
[[nodiscard]] const std::shared_ptr<lock_state>& lock_of(const std::shared_ptr<candidacy>&) noexcept;
[[nodiscard]] bool has_resigned(const std::shared_ptr<candidacy>&) noexcept;
/// Calls `stop`, on the client's strand, when it resigns; it takes the place of what was given before.
void at_resignation(const std::shared_ptr<candidacy>&, std::function<void()> stop);
void start_resign(std::shared_ptr<lock_state> election, void_handler);
void start_wait_for_leadership(std::shared_ptr<lock_state> election, void_handler);
void start_leader(std::shared_ptr<lock_state> election, leader_handler);

// `owner` is null for an empty guard. The guard may be gone by the time that the operation starts, which does not keep
// the lock.

/// From its start on the guard is empty.
void start_release(std::shared_ptr<client_state> owner, std::weak_ptr<guard_state>, void_handler);
void start_wait_lost(std::shared_ptr<client_state> owner, std::weak_ptr<guard_state>, void_handler);
void start_wait_revoked(std::shared_ptr<client_state> owner, std::weak_ptr<guard_state>, void_handler);

/// The same semaphore, for `count` permits.
[[nodiscard]] std::shared_ptr<lock_state> permits_of(const std::shared_ptr<lock_state>&, std::size_t count);
[[nodiscard]] std::size_t permit_count(const std::shared_ptr<guard_state>&) noexcept;
// They work on a part of the permits, which stay with their handle.
void start_partial_release(std::shared_ptr<client_state> owner, std::weak_ptr<guard_state>, std::size_t count,
                           void_handler);
void start_split(std::shared_ptr<client_state> owner, std::weak_ptr<guard_state>, std::size_t count, permits_handler);

[[nodiscard]] asio::any_io_executor executor_of(const std::shared_ptr<client_handle>&);
[[nodiscard]] asio::any_io_executor executor_of(const std::shared_ptr<lock_state>&);
[[nodiscard]] const std::string& path_of(const std::shared_ptr<lock_state>&) noexcept;
[[nodiscard]] std::optional<wait_report> last_timeout_of(const std::shared_ptr<lock_state>&);
/// How many of the acquires of that lock hold it now; of a semaphore, how many permits they have. 0 for a null lock.
/// From any thread.
[[nodiscard]] std::size_t count_held(const std::shared_ptr<lock_state>&) noexcept;
[[nodiscard]] asio::any_io_executor executor_of(const std::shared_ptr<guard_state>&);
[[nodiscard]] asio::any_io_executor executor_of(const std::shared_ptr<client_state>&);
/// Null for an empty guard.
[[nodiscard]] std::shared_ptr<client_state> client_of(const std::shared_ptr<guard_state>&) noexcept;

// The initiation of an acquire has a type of its own, because run() takes it, too.

template <class Handle>
using acquire_initiation =
    initiation<start_acquire<Handle>, std::shared_ptr<lock_state>, acquire_mode, std::optional<lease_clock::duration>>;

template <class Handle>
[[nodiscard]] acquire_initiation<Handle> waiting(std::shared_ptr<lock_state> lock,
                                                 std::optional<lease_clock::duration> timeout = {})
{
    return acquire_initiation<Handle>(std::move(lock), acquire_mode::wait, timeout);
}
template <class Handle> [[nodiscard]] acquire_initiation<Handle> trying(std::shared_ptr<lock_state> lock)
{
    return acquire_initiation<Handle>(std::move(lock), acquire_mode::look_once, std::nullopt);
}

} // namespace zklock::detail
