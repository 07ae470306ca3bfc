#pragma once
#include "zklock/client_options.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace zklock {

namespace detail {
class event_sink;
}

/// How contenders are named, so that programs of other clients can share the path.
enum class naming : std::uint8_t {
    curator, ///< `_c_<uuid>-lock-<sequence>`
    kazoo    ///< `<uuid>__lock__<sequence>`
};

/// Options of a mutex. `names`, `linger` and `cohort` hold for the path: mutexes of one client on one path must agree
/// on them, or their operations fail with `errc::invalid_option`.
struct mutex_options {
    mutex_options() = default; // gcc 12 destroys temporaries of aggregates twice around co_await

    naming names = naming::curator;
    /// How the path is made where it is missing, and where its sequence numbers near their end at 2^31 (after 25 days
    /// of 1,000 acquires a second). Then acquires that have no node yet wait in their client, and nothing lingers; when
    /// the last node is gone, one client deletes the path, and it is made again. Numbers begin at 0, and fencing tokens
    /// go on growing. Readers wait likewise, though only other readers hold: as long as the longest of those. Until then
    /// `try_acquire()` is `busy` while there is any node, also a reader's for a reader: it could have a lock only by a
    /// number that is kept for those who do not know yet that numbers are scarce.
    ///
    /// The path is made again as this option says, whatever it was before: the servers do not tell. Where programs use
    /// it that do not expect it to go (kazoo's fail with `NoNodeError` if they come just then), and where it is to last,
    /// make it `persistent`, and have it so in all clients.
    ///
    /// A path stays if it has data, or children that are no contenders, or if the ACL forbids to delete it; and if
    /// contenders of other libraries, or of clients with other credentials, never let it become empty. Then its numbers
    /// are used up, and acquires fail with `errc::sequence_exhausted`. What ACL a path had of its own is not kept: give
    /// it data if it is to stay. (Data keeps a container from its clients only: the servers delete it when it is empty.)
    parent_kind parents = parent_kind::container;
    /// First line of the contender's data. Empty: the client's. No line feed in it, and not `__REVOKE__`.
    std::string identifier;
    /// What else `contenders()` is to tell of it: lines `key=value` after the first. Keys are not empty and have no
    /// `=`, and there is no line feed in either. With the identifier no more than 64 KiB; each node carries them.
    std::map<std::string, std::string> properties;
    /// Who is told what happens to the acquires: `listen()` makes one. Empty: nobody.
    std::shared_ptr<detail::event_sink> listener;
    /// How often one acquire may try to create its node: each lost connection, expired session or outside deletion
    /// that costs it its node uses one up. 0: as often as the deadline allows.
    unsigned max_attempts = 0;

    /// How long a released node may stay for the next acquire of this client, which needs no network then. Others who
    /// queue make it leave: they wait for an event and a delete more or, should this process be stopped or cut off just
    /// then, until its session ends; after the event, only `cohort` lets anybody pass. 0: at once; at most one day.
    ///
    /// A free lock that lingers is `busy` for `try_acquire()` of other clients, and for their `acquire()` with no time
    /// to wait, as long as its node stays: they do not queue, so they do not make it leave, and the node does not say
    /// that nobody holds it. (To write that into it would cost each release the request that lingering saves.) With
    /// time for a few round trips, as in `acquire(50ms)`, they get it.
    std::chrono::milliseconds linger{0};
    /// How many acquires of this client may use one node in succession before it goes to the tail of the queue: the
    /// price is that others wait for up to that many where they would wait for one. 1 (none but the one that made it)
    /// to 4096.
    unsigned cohort = 1;
};

} // namespace zklock
