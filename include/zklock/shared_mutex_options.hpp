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

/// Options of a shared mutex. `names` holds for the path: shared mutexes of one client on one path have to agree on it
/// as long as they live, whether in use or not; else acquires end with `errc::invalid_option`. The acquires of a
/// `mutex` end with it, too, as long as a shared mutex of the same client lives that was acquired on the path, and the
/// other way round.
struct shared_mutex_options {
    shared_mutex_options() = default; // no aggregate: see client_options

    /// `naming::curator`: readers are `_c_<uuid>-__READ__<sequence>` and writers `_c_<uuid>-__WRIT__<sequence>`, as
    /// Curator's InterProcessReadWriteLock names them. `naming::kazoo`: readers are `<uuid>__rlock__<sequence>` and
    /// writers `<uuid>-w__lock__<sequence>`, which go together with kazoo's ReadLock and WriteLock.
    /// `mark` and `also_heeds` of `mutex_options` are not offered: a name would have to say whether it reads or writes.
    naming names = naming::curator;
    /// What missing parents become: see `mutex_options::parents`.
    parent_kind parents = parent_kind::container;
    /// Who may do what with the nodes that this lock makes: see `mutex_options::access`.
    std::optional<access_list> access;
    /// First line of the contender's data. Empty: the client's. See `mutex_options::identifier`.
    std::string identifier;
    /// What else `contenders()` is to tell of it: see `mutex_options::properties`.
    std::map<std::string, std::string> properties;
    /// Who is told what happens to the acquires of readers and writers: see `mutex_options::listener`.
    lock_listener listener;
    /// Under what name its acquires are counted: see `mutex_options::metrics_name`.
    std::string metrics_name;
    /// How often one acquire may try to create its node: see `mutex_options::max_attempts`.
    unsigned max_attempts = 0;
};

} // namespace zklock
