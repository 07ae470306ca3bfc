// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/contender.hpp"
#include "zklock/detail/same_library.hpp"
#include "zklock/lease_clock.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace zklock {

/// What an acquire has waited for that ended at its deadline, with an error of `condition::not_in_time`: see
/// `mutex::last_timeout()`. It tells what was known then. The acquire does not wait for more: some may be missing.
struct wait_report {
    wait_report() {} // no aggregate: see client_options

    /// `before_us` counts up to this.
    static constexpr std::size_t most_counted = 1000;

    /// How the last attempt to connect to an address has ended, or how far the first one has come; or why a name has no
    /// address.
    struct failed_address {
        std::string address; ///< such as `192.0.2.7:2181`, or the name
        std::string why;     ///< in words, with the address: `cannot connect to 192.0.2.7:2181: Connection refused`
    };

    std::string path;                 ///< of the lock; of a `multi_lock`, the path of the member that was waited for
    std::string node;                 ///< our own in the queue, full path; empty if there was none
    lease_clock::duration waited{};   ///< since the acquire was started
    /// How many were before us in the queue, those who held the lock among them. Of a semaphore: in the waiting line,
    /// where those who hold permits do not stand.
    std::size_t before_us = 0;
    std::size_t permits = 0; ///< of a semaphore: how many permits it has, as far as is known; 0 for other locks
    /// The first in the queue; of a semaphore, one who holds permits. Its node is read shortly before the deadline. If
    /// no answer has come by then, only `node`, `sequence`, `shared` and `ours` are known, and `created` is
    /// `time_point()`. `created` is when it came to the queue: it has held the lock no longer than that.
    std::optional<contender> held_by;
    /// Set if not connected at the deadline, without the machine's sleep. `before_us`, `held_by` are as last seen then.
    /// Set, too, if connections are made and lost one after the other: since the last that was of use for a quarter of
    /// the session's time-out. The `why` of the address where the last was lost says how many there were.
    std::optional<lease_clock::duration> not_connected_for;
    /// Set if the acquire ended with `not_connected` or `tls_failed`: the servers had not told by then that others are
    /// before it, or were silent for too long since. `before_us`, `held_by` are as last seen then.
    bool no_answer = false;
    /// All addresses that were tried since there was a connection; of those that failed, 16 at most.
    std::vector<failed_address> addresses;
};

/// One line: `waited 5.000 s for /stock: held by "billing" (session 0x100012ab, node …, there since
/// 2026-11-21T18:42:05.123Z), 3 before us`. Of a semaphore: `waited 5.000 s for /gate: one of 2 permits is held by
/// "billing" (…); first in the line`. If it ended with `not_connected`, that comes first: `waited 5.000 s for /stock:
/// no answer of the servers in time; when last seen, held by "billing" (…), 3 before us`. Control characters that
/// others wrote are replaced.
[[nodiscard]] std::string to_string(const wait_report&);

} // namespace zklock
