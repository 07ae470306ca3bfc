// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/named_enum.hpp"
#include "zklock/detail/same_library.hpp"

#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace boost::asio {
class any_io_executor; // <boost/asio/any_io_executor.hpp>, which client.hpp includes
}

namespace zklock {

namespace detail {
template <class Event> class event_sink;
}

/// The clock by which leases and deadlines are measured.
///
/// It is `CLOCK_BOOTTIME`: it is monotonic, and goes on while the machine is suspended, as the servers' session timers
/// do. Its epoch is the start of the machine, so its values mean nothing on another machine.
///
/// Thread safety: `now()` may be called from any thread.
struct lease_clock {
    using duration = std::chrono::nanoseconds;               ///< what a difference of two times is
    using rep = duration::rep;                               ///< the number in it
    using period = duration::period;                         ///< and its unit
    using time_point = std::chrono::time_point<lease_clock>; ///< a time of this clock
    static constexpr bool is_steady = true;                  ///< it is never set back

    /// The time. From any thread.
    [[nodiscard]] static time_point now() noexcept;
};

/// Where a client stands with its ensemble.
enum class connection_state : std::uint8_t {
    connecting, ///< no session yet, or the last one expired and the next is being opened; or, with a session's id,
                ///< nothing was heard for so long that it should be over: it goes on if the servers still know it
    connected,  ///< a session is alive and a server answers
    suspended,  ///< the connection is gone, the session may still be alive: holders hold until their lease ends
    closed,     ///< close() was called, or the last handle went away
    failed      ///< an option is out of range, the servers refused the credentials, or memory failed in the client;
                ///< nothing will work any more
};

/// The state's name, as it is spelt above; it is valid for ever. May be called from any thread.
[[nodiscard]] constexpr std::string_view to_string(connection_state e) noexcept
{
    return detail::name_of(e, {"connecting", "connected", "suspended", "closed", "failed"});
}

/// A client has come into another state: what a `connection_listener` is told.
struct connection_event {
    connection_state state = connection_state::connecting; ///< the new one
    std::int64_t session_id = 0;                           ///< 0 where there is none
    lease_clock::time_point at{};                          ///< when the client came into it
    /// How many events the listener has left out since the call before: see `listen_to_connection()`.
    std::uint64_t dropped = 0;
    /// Why the state is `failed`: `errc::authentication_failed`, `errc::invalid_option`, `not_enough_memory`
    /// (`boost::system::errc`), or `errc::closed`, where the client's executor has thrown. Else it is empty.
    boost::system::error_code why{};
};

/// Who is told of a client's states: `client_options::listener`. Empty: nobody is told.
using connection_listener = std::shared_ptr<detail::event_sink<connection_event>>;

/// Makes a listener of a function, which is called with each change of `client::state()`, once, in their order. A
/// client begins in `connecting`, or with options out of range in `failed`, which is told; `closed` is told when the
/// close begins, unless the client's context ends first. Credentials that the servers refuse are told as `failed`, with
/// the reason in `why`; `connected` and `suspended` may come before, for a session is opened before they are looked at.
///
///     options.listener = zklock::listen_to_connection(io.get_executor(), [](const zklock::connection_event& e) { … });
///
/// @param executor Where the function is called, by `post`: never inside a call of the library.
/// @param told It is never called twice at a time. By the time of the call the client may be in another state already.
/// @param most How many events may wait (0 counts as 1) where they come faster than the executor takes them. The next
/// ones are dropped, and counted.
///
/// What `listen()` says of exceptions, lifetime and threads holds here, too. A function that
/// uses the client has to have it from elsewhere, weakly if it is to close: the client keeps the listener.
///
/// That a client tells of its connection's states is known from Curator's `ConnectionStateListener`.
[[nodiscard]] connection_listener listen_to_connection(boost::asio::any_io_executor executor,
                                                       std::function<void(const connection_event&)> told,
                                                       std::size_t most = 1024);

/// Why a lock was lost that was held. A holder that is asked to let go (`guard::wait_revoked()`) goes on holding: that
/// is no loss.
enum class loss_reason : std::uint8_t {
    lease_ended,           ///< not renewed in time: no connection, or too late; or this process did not run
    session_expired,       ///< the servers have ended the session
    node_deleted,          ///< somebody else has deleted the lock's node
    client_closed,         ///< the client was closed or has failed, or its execution context was destroyed
    authentication_failed, ///< all servers that answered have refused the credentials at a reconnect
    forked                 ///< this process is a fork: the lock is still its parent's, as far as this process knows
};

/// The reason's name, as it is spelt above; it is valid for ever. May be called from any thread.
[[nodiscard]] constexpr std::string_view to_string(loss_reason why) noexcept
{
    return detail::name_of(
        why, {"lease_ended", "session_expired", "node_deleted", "client_closed", "authentication_failed", "forked"});
}

/// How a lock was lost.
struct lock_loss {
    loss_reason reason = loss_reason::lease_ended; ///< why
    lease_clock::duration held{};                  ///< from the grant to the loss
    lease_clock::duration unheard{};               ///< how long before the loss the servers' leader was last heard of
};

/// One node in a lock's queue, as `contenders()` lists it. `identifier` and `properties` are what its program wrote,
/// byte for byte and no more than 64 KiB of it. What other clients wrote may be any bytes at all (Curator writes the
/// host's address): escape them before you show them.
struct contender {
    contender() = default; // no aggregate: see client_options

    std::string node;            ///< full path
    std::int32_t sequence = 0;   ///< the place in the queue: lower ones come first
    std::int64_t session_id = 0; ///< the session that the node belongs to
    bool ours = false;           ///< it belongs to the client that asked for the list
    std::string identifier;      ///< first line of the node's data
    /// The lines `key=value` that follow; this library writes `mutex_options::properties` there.
    std::map<std::string, std::string> properties;
    bool revoked = false;                          ///< it was asked to let go: the request took the place of the data
    std::chrono::system_clock::time_point created; ///< by the clock of the ensemble's leader
    bool shared = false;                           ///< a reader of a `shared_mutex`

    /// How long its node has existed at `now`, never less than 0. `created` is by the clock of the ensemble's leader,
    /// and `now` by this machine's: the result is wrong by as much as the two differ.
    [[nodiscard]] std::chrono::system_clock::duration
    age(std::chrono::system_clock::time_point now = std::chrono::system_clock::now()) const
    {
        return now > created ? now - created : std::chrono::system_clock::duration::zero();
    }
};

/// Something that happened to one acquire of a lock: what a `lock_listener` is told.
///
/// The events of an acquire come in this order, each once: `queued`, `acquired`, then `lost` or `released`; or
/// `failed`, at any point before `acquired`. `queued` comes again when the acquire got a new node, because its session
/// or its node came to an end while it waited. It is told as soon as it is known whom it waits `behind`, at the latest
/// with what ends the wait.
///
/// **Of a semaphore** `queued` tells of the place in the waiting line: its node, and its `sequence`, which later events
/// keep. Whoever is the first there waits `behind` one who holds permits. From `acquired` on `node` is that of the
/// first permit. All permits of an acquire are one hold, also those that were split off: `released` comes when the last
/// of them is back, and `lost` instead of it when the first are lost.
///
/// With `began` and `at` these are what a tracer needs to make spans of, without a dependency of this library on one:
/// the wait (`began` to `acquired` or `failed`, with `queued` in it) and the hold (to `lost` or `released`).
/// For a time of another clock, subtract how long ago it is: `system_clock::now() - (lease_clock::now() - e.at)`.
struct lock_event {
    /// What has happened to an acquire.
    enum class kind : std::uint8_t {
        queued,   ///< it has a node, and so a place in the queue; before `acquired`, also where nobody is before it
        acquired, ///< it holds the lock
        lost,     ///< the lock was lost while it was held, which its release may be the first to find out; no release
                  ///< is told. A lock can be lost before its caller could be told of the grant: then the acquire fails
                  ///< with `errc::lost`
        released, ///< it was given back, and its node is gone or passed on; with an `error`, the client ended first
        failed    ///< it ended without the lock, for the reason in `error`; `operation_aborted` if it was cancelled.
                  ///< Where an acquire with no time to wait finds it `busy`, its caller hears `timed_out`, or
                  ///< `not_connected` if no others are known; and where it is `not_connected` because TLS has failed
                  ///< with all servers, `tls_failed`
    };

    kind what = kind::queued;        ///< what has happened
    std::uint64_t acquire = 0;       ///< the acquire's id: no other acquire of the client has it
    std::string path;                ///< the lock's path
    std::string node;                ///< full path of its node; empty before it was queued
    std::int32_t sequence = 0;       ///< its node's place in the queue: lower ones come first
    std::int64_t fencing_token = 0;  ///< 0 before it was acquired
    boost::system::error_code error; ///< why, if it has failed
    lock_loss loss;                  ///< with `lost`: why, and after how long
    lease_clock::time_point began{}; ///< when the acquire began
    lease_clock::time_point at{};    ///< when this happened: it may be told later
    /// With `released`: its guard was destroyed in the turn that delivered it, and nobody had looked whether there was
    /// one. Most probably its `co_await` has no name on its left: see `acquired`.
    bool unseen = false;
    /// How many events the listener has left out since the call before, because too many were waiting: see `listen()`.
    /// This one is the first that was waiting then; losses are left out last, and follow.
    std::uint64_t dropped = 0;
    /// With `queued`: whom it waits behind, the nearest in the queue who keeps it out; null where nobody does. It takes
    /// no request to know that. If his node was not read by then, only `node`, `sequence`, `shared` and `ours` are
    /// known; and of one of ours all but `created` and `revoked`.
    std::shared_ptr<const contender> behind;
};

/// The name, as it is spelt above.
[[nodiscard]] constexpr std::string_view to_string(lock_event::kind e) noexcept
{
    return detail::name_of(e, {"queued", "acquired", "lost", "released", "failed"});
}

/// Who is told what happens to the acquires of a lock: an option of most locks. `listen()` makes one of a function.
/// Empty: nobody is told.
using lock_listener = std::shared_ptr<detail::event_sink<lock_event>>;

/// How many events may wait for a listener's executor, unless another number is given. They take 15 MB or so.
inline constexpr std::size_t most_waiting_events = 65'536;

/// Makes a listener of a function.
///
///     options.listener = zklock::listen(io.get_executor(), [](const zklock::lock_event& e) { … });
///
/// @param executor Where the function is called, by `post`: never inside a call of the library, and on the client's
/// strand only if it is that. It may have several threads.
/// @param told It is called with each event of each lock that has this listener, once, and never twice at a time. The
/// events of an acquire come in the order that `lock_event` states, and all events of a client in the order in which
/// things happened. There is no order between these calls and the handlers of operations. What the function throws
/// comes out of the executor (`io_context::run()`) like an exception of any function posted there, and the next event
/// follows.
/// @param most How many events may wait (0 counts as 1) where they come faster than the executor takes them.
///
/// **A slow executor.** When `most` events wait, the next ones are dropped, and those that wait are told. But losses
/// (`lost`) have as much room again: one is dropped only when `most` losses wait. The next call carries the number of
/// dropped events (`lock_event::dropped`). There always is such a call, for an event for which there is no room is
/// dropped only while others wait. From then on events of an acquire may be missing: `contenders()` tells how things
/// stand.
///
/// **An executor that throws** as it is asked to take an event costs its listener time, and nobody else anything: the
/// event waits, as above, and is told with the next that the executor takes. `client_options::log` of the client whose
/// lock it was is told. An event for which there is no memory counts as dropped: the next event tells of it.
///
/// **Lifetime.** The function lives as long as the locks that have the listener, and their acquires; it is destroyed
/// with the last of them, on whatever thread that is. Events keep the executor busy while they are on their way, and
/// not between them. With the end of the executor's context the events end; the locks, and the client, may outlive it.
///
/// Thread safety: it may be called from any thread; a listener may serve locks of several clients.
///
/// That a place in the queue is told before the lock is held was asked for in Curator (CURATOR-592); callbacks of a
/// lock are known from ZooKeeper's `WriteLock`.
[[nodiscard]] lock_listener listen(boost::asio::any_io_executor executor, std::function<void(const lock_event&)> told,
                                   std::size_t most = most_waiting_events);

/// One of several locks that are held together.
struct held_lock {
    std::string path;               ///< the lock's path
    std::string node;               ///< full path of the node by which it is held
    std::int64_t fencing_token = 0; ///< see `guard::fencing_token()`
};

/// What an acquire has waited for that ended at its deadline, with an error of `condition::not_in_time`: see
/// `lock_handle::last_timeout()`. It tells what was known then. The acquire does not wait for more: some may be
/// missing.
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

    std::string path;               ///< of the lock; of a `multi_lock`, the path of the member that was waited for
    std::string node;               ///< our own in the queue, full path; empty if there was none
    lease_clock::duration waited{}; ///< since the acquire was started
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
    /// Set with `no_answer`, if connected: for how long. The lease had ended, or would have before it could be renewed:
    /// nothing is granted then (`client_options::lease_margin`).
    std::optional<lease_clock::duration> without_lease_for;
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
