// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/access_list.hpp"
#include "zklock/client_options.hpp"
#include "zklock/lock_event.hpp"
#include "zklock/mutex_options.hpp"

#include <map>
#include <optional>
#include <string>

namespace zklock {

/// Options of a semaphore. `permits`, `count_path`, `check_permits` and `names` hold for the path: semaphores of one
/// client there have to agree on them as long as they live, whether in use or not; else acquires end with
/// `errc::invalid_option`.
struct semaphore_options {
    semaphore_options() = default; // no aggregate: see client_options

    /// How many permits there are, 1 to 2^31 - 1: a convention that all users of the path keep to, unless there is a
    /// shared count, or it is checked.
    unsigned permits = 1;
    /// The node that says how many permits there are. Its data may be changed while the semaphore is in use: four
    /// bytes, the most significant first, as in Curator's `SharedCount`. Where the node is missing it is made, with
    /// `permits`. While the number is zero or less, nothing is granted. Empty: there is no such node.
    std::string count_path;
    /// Whether the path's data has to agree on `permits`, as kazoo's `Semaphore` demands. Where it is empty, `permits`
    /// is written there as a decimal number; where it is another number, acquires fail with `errc::invalid_option`;
    /// other text is left alone. The client looks when it first acquires, and when the path has been made again, not
    /// for each acquire. It cannot be combined with a shared count. A number that the client itself has written goes
    /// with the container that it has made.
    bool check_permits = false;

    /// `mark` and `also_heeds` of `mutex_options` are not offered: every node of a permit counts, whatever its name is,
    /// and the waiting line is a lock of Curator's or kazoo's own.
    naming names = naming::curator;
    /// What missing parents become: see `mutex_options::parents`.
    parent_kind parents = parent_kind::container;
    /// Who may do what with the nodes that this semaphore makes: those of its permits and of its waiting line, the
    /// paths of both, the shared count, and what is missing above them. See `mutex_options::access`.
    std::optional<access_list> access;
    /// First line of the data of each node: of the permits, and of the place in the waiting line. Empty: the client's.
    /// See `mutex_options::identifier`.
    std::string identifier;
    /// What else `holders()` and `contenders()` are to tell of it: see `mutex_options::properties`. Each of those nodes
    /// carries them.
    std::map<std::string, std::string> properties;
    /// Who is told what happens to the acquires: see `listen()`, and `lock_event` for what that is for permits.
    lock_listener listener;
    /// Under what name its acquires are counted: see `mutex_options::metrics_name`.
    std::string metrics_name;
    /// How often one acquire may try to get its nodes: first that of its place in the waiting line, then those of its
    /// permits. An attempt is used up by each lost connection (a create that was not done, or the end of the lease at
    /// the head of the line), expired session or outside deletion that costs the acquire one of these nodes before it
    /// is granted. It ends with what cost it the last: `errc::not_connected`, `errc::session_expired` or `errc::lost`.
    /// 0: as often as the deadline allows.
    unsigned max_attempts = 0;
};

} // namespace zklock
