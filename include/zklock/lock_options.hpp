// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/client_options.hpp"
#include "zklock/detail/named_enum.hpp"
#include "zklock/events.hpp"
#include "zklock/node.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zklock {

/// How contenders are named, so that programs of other clients can share the path.
enum class naming : std::uint8_t {
    curator, ///< `_c_<uuid>-lock-<sequence>`
    kazoo    ///< `<uuid>__lock__<sequence>`
};

/// The name, as it is spelt above.
[[nodiscard]] constexpr std::string_view to_string(naming e) noexcept
{
    return detail::name_of(e, {"curator", "kazoo"});
}

/// Options of a mutex. Mutexes of one client on one path have to agree on `names`, `mark`, `also_heeds`, `linger` and
/// `cohort` as long as they live, whether in use or not; else acquires end with `errc::invalid_option`, and the log
/// names the option. `find_fault()` finds what is wrong in one lock's options.
struct mutex_options {
    mutex_options() = default; // no aggregate: see client_options

    /// By whose convention this lock's nodes are named.
    naming names = naming::curator;
    /// The text between the uuid and the number in the names of our own nodes, what a Curator program calls its lock
    /// name: with `-stock-` they are `_c_<uuid>-stock-<sequence>`, and `<uuid>-stock-<sequence>` with `naming::kazoo`.
    /// Empty: `-lock-` or `__lock__`, by `names`.
    ///
    /// Every program on the path has to know the mark; another client of this library by the same `mark`, or by
    /// `also_heeds`. One that does not know it takes these nodes for no contenders, and gets the lock beside them.
    std::string mark;
    /// Texts that stand before the number in the names of other programs' contenders. A child whose name is anything
    /// (or nothing), then one of these, then the number, is in the queue by that number, as all others are.
    /// The empty string stands for names that are the number alone, such as `/LOCK/0000000001`. The usual names
    /// (`naming`, those of readers and writers, and those of ZooKeeper's own recipe) and our own `mark` are heeded
    /// anyway, so it does no harm to list them.
    ///
    /// With this, programs that use names of their own share a path with this library while they are migrated one by
    /// one. Without it they and this library do not exclude each other. Their contenders count like all others: in
    /// `acquire()`, `try_acquire()`, `contenders()` and `revoke()`.
    ///
    /// The other program has to heed our nodes, too, and has to compare numbers. One that sorts whole names, as the
    /// usual sample does, puts its `0000000007` before our `_c_…-lock-0000000003`. That line has to be changed first:
    ///
    ///     first = sorted(children)[0]                               # wrong beside names of another form
    ///     first = min(children, key=lambda name: int(name[-10:]))   # by the number
    ///
    /// (Its search for the node to watch has to compare in the same way.)
    ///
    /// Our own nodes always have a uuid; there are no names without it to choose. A path that is made anew, as
    /// containers are in normal operation, counts from 0 again, and a name without a uuid comes again with it. If the
    /// answer to a delete is lost then, and the delete repeated, it would take the node of another holder; and a create
    /// whose answer is lost could not be told from somebody else's.
    ///
    /// What cannot work is refused with `errc::invalid_option`, for `mark` and for these: more than 16 of them, more
    /// than 64 bytes, a `/` or another character that ZooKeeper does not take, a digit at the end (nobody could tell
    /// where the number begins), names of readers and writers (which this lock's contenders are not), and a mark that
    /// differs from another only by a `-` at its end, or that ends with `--` (numbers past 2^31 begin with that sign).
    std::vector<std::string> also_heeds;
    /// How the path is made where it is missing, and where its sequence numbers near their end at 2^31 (after 25 days
    /// of 1,000 acquires a second). Near that end, acquires that have no node yet wait in their client, and nothing
    /// lingers; when the last node is gone, one client deletes the path, and it is made again. Numbers begin at 0, and
    /// fencing tokens go on growing. Near the end a new reader waits as well, until the last that holds has let go.
    /// Until the path is made again, `try_acquire()` is `busy` while there is any node, and so is that
    /// of readers, even if the node is a reader's: the few numbers that are left are for acquires of
    /// clients that have not noticed yet that the end is near.
    ///
    /// The path is made again as this option says, whatever it was before, because the servers do not tell what it was.
    /// Make it `persistent`, and have it so in all clients, if it is to last, or if programs use it that do not expect
    /// it to go (kazoo's fail with `NoNodeError` if they come just then).
    ///
    /// A path stays if it has data, or children that are no contenders, or if the ACL forbids to delete it; and if
    /// contenders of other libraries, or of clients with other credentials, never let it become empty. Then acquires of
    /// this library wait until those have used up its numbers, and fail with `errc::sequence_exhausted`. A path that is
    /// made again has the access list of the client that makes it, not the one it had: give it data if it is to stay.
    /// (Data keeps a container from its clients only: the servers delete it when it is empty.)
    parent_kind parents = parent_kind::container;
    /// Who may do what with the nodes that this lock makes: those of its contenders, the path, and what is missing
    /// above it. Nothing: `client_options::access` says. Locks of one client on one path may have different lists: a
    /// path that is missing is made with that of an acquire that finds it missing, and a node that `linger` or `cohort`
    /// hands on keeps the list of the acquire that made it.
    std::optional<access_list> access;
    /// First line of the contender's data. Empty: the client's. It has no line feed, and is not `__REVOKE__`.
    std::string identifier;
    /// What else `contenders()` is to tell of it: lines `key=value` after the first. Keys are not empty and have no
    /// `=`; neither keys nor values have a line feed; `handoff` with an address and a port is zklock's own. They and
    /// the identifier have at most 64 KiB; each node carries them.
    std::map<std::string, std::string> properties;
    /// Who is told what happens to the acquires: see `listen()`. Empty: nobody.
    lock_listener listener;
    /// Under what name `client::metrics()` counts the acquires of this lock. Locks of one kind share a name: a client
    /// tells 64 apart, and counts the rest together, because each name costs the system that stores the metrics 65 time
    /// series. So the path is a good name only where a program has few. Empty: counted with all others without a name.
    std::string metrics_name;
    /// How often one acquire may try to create its node: each lost connection, expired session or outside deletion
    /// that costs it its node uses one attempt up. It ends with what used up the last: `errc::not_connected`,
    /// `errc::session_expired` or `errc::lost`. 0: as often as the deadline allows.
    unsigned max_attempts = 0;

    /// How long a released node may stay for the next acquire of this client, which then needs no network. When others
    /// queue, the node leaves. They wait longer, by one event and one delete, or, if this process is stopped or cut off
    /// just then, until its session ends. Once the event has come, only acquires that `cohort` allows get the node
    /// before it leaves. 0: the node goes at once. At most one day.
    ///
    /// As long as its node stays, a free lock that lingers is `busy` for `try_acquire()` of other clients, and
    /// `timed_out` for their `acquire()` with no time to wait: they do not queue, so they do not make it leave, and the
    /// node does not say that nobody holds it. (To write that into it would cost each release the request that
    /// lingering saves.) With time for a few round trips, as in `acquire(50ms)`, they get it.
    std::chrono::milliseconds linger{0};
    /// Up to this many acquires of this client use one node before others get the lock: others then wait for that
    /// many where they would wait for one. 1 (only the one that made the node) to 4096.
    unsigned cohort = 1;
};

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

/// Options of an election: those of the lock whose holder leads, and one more. The `identifier` tells who a participant
/// is.
struct election_options : mutex_options {
    election_options() = default; // no aggregate: see client_options

    /// Whether the participant stands again, at the end of the queue, when the body has returned a value or the
    /// leadership was lost. It does so until `resign()`.
    bool requeue = false;
};

/// The first wrong option of a mutex, a re-entrant mutex or an election. (Where `identifier` is empty, an acquire
/// writes the client's into its node: properties that just fit by themselves may be too long together with that one.)
[[nodiscard]] std::optional<option_fault> find_fault(const mutex_options&);
/// The first wrong option of a shared mutex, re-entrant or not.
[[nodiscard]] std::optional<option_fault> find_fault(const shared_mutex_options&);
/// The first wrong option of a semaphore.
[[nodiscard]] std::optional<option_fault> find_fault(const semaphore_options&);

} // namespace zklock
