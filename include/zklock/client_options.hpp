// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/access_list.hpp"
#include "zklock/connection_event.hpp"
#include "zklock/detail/named_enum.hpp"
#include "zklock/handoff_options.hpp"
#include "zklock/log.hpp"
#include "zklock/sasl_options.hpp"
#include "zklock/tls_options.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zklock {

/// One identity shown to the servers at every connect, such as `{"digest", "user:password"}`.
struct credentials {
    std::string scheme; ///< how the servers check it: `digest`, say
    std::string secret; ///< what proves it, in the form of that scheme; it is not logged
};

/// What is created where a lock's parent is missing.
enum class parent_kind : std::uint8_t {
    /// It goes when nobody uses it: a node that is to last has to be a persistent one. Where the servers know no
    /// containers, a persistent node is made.
    ///
    /// The client that made the container deletes it, if it is empty, when it has not used the path for
    /// `session_timeout` / 2, or up to twice as long. The client looks first: a container that somebody else has
    /// written data into, or has put in the place of the first, stays, unless that happens in the moment between the
    /// look and the delete. A container that somebody else used then, or whose client was closed before, stays as well.
    /// The servers delete some of those in each minute, if they are empty, whatever their data.
    container,
    persistent ///< stays until somebody deletes it
};

/// The name, as it is spelt above.
[[nodiscard]] constexpr std::string_view to_string(parent_kind e) noexcept
{
    switch (e) {
    case parent_kind::container: return "container";
    case parent_kind::persistent: return "persistent";
    }
    return "unknown";
}

/// How a client connects and how careful it is. Every operation reports values that are out of range as
/// `errc::invalid_option`; `find_fault()` in `option_fault.hpp` names the option, and so does `log`.
struct client_options {
    // No struct that users hand over is an aggregate: the user's guide says why, under "A lock around a piece of work".
    client_options() = default;

    /// `host:port,host:port`, or with a chroot `host:port,host:port/chroot`; also IPv6 (`[::1]:2181`). The client looks
    /// names up asynchronously, all together, and again when a connection has ended: see the user's guide, under "Where
    /// the servers are".
    std::string servers = "127.0.0.1:2181";
    /// The client puts it before every path; its node must exist. Leave it empty if there is none, or if `servers` ends
    /// with one. It has no blank at its end, and is not in `/zookeeper`, which is the servers' own.
    std::string chroot;
    /// The time-out that the client asks of the servers. They may grant another, but all servers of an ensemble grant
    /// the same. 100 ms to 2^31 - 1 ms; no more than 2^30 - 1 ms (12 days) are asked for, because of the C client. The
    /// nodes of a dead client live as long as this.
    ///
    /// If what they grant leaves no time for a lease, acquires and `wait_connected()` end with `errc::invalid_option`
    /// (`log` tells why). Of the time-out T, a lease needs T * `clock_drift`, the margin, `loss_notice`, and for
    /// heartbeats max(T / 32, min(100 ms, T / 4)). By default that leaves time from T = 2,122 ms on, with ticks of 2 s,
    /// and from 607 ms or 271 ms on where `server_tick` says 500 or 200 ms.
    std::chrono::milliseconds session_timeout{10'000};
    /// The identities that the client shows to the servers at every connect.
    std::vector<credentials> auth;
    /// Whether and how connections are encrypted: not, at first.
    tls_options tls;
    /// Whether and how the client identifies itself by SASL: not, at first.
    sasl_options sasl;
    /// Whether clients tell each other directly what they let go: not, at first.
    handoff_options handoff;
    access_list access; ///< of all nodes that the client creates, unless a lock or a call says another; `acl::open`

    /// Who this client is, for people who look at the nodes: the first line of each contender's data. It is one line of
    /// up to 64 KiB. Empty: `host:pid`.
    std::string identifier;

    /// How much faster than ours the servers' clock may run, as a fraction, 0 to below 0.5: 0.01 is 36 s in an hour.
    double clock_drift = 0.01;
    /// The servers' `tickTime`, or more; more than 0. A leader that its quorum has given up goes on answering for up to
    /// a tick. State less for servers with shorter ticks and sessions of less than 8 s: their locks then survive longer
    /// outages, with fewer heartbeats. If you state less than the servers' tick, such an answer may let two hold one
    /// lock; a client cannot see that, but `zklock doctor` looks, where the servers tell (`conf`; without TLS).
    std::chrono::milliseconds server_tick{2'000};
    /// The safety margin of the lease: a request renews the lease only once a later one, sent at least this long after
    /// its answer, is answered too. It is 0 or more, and leaves room in the time-out asked for, beside drift and
    /// notice, for two heartbeats. Empty: 21 % of the time-out, and at least `server_tick`.
    ///
    /// So a lock is held without a connection for about the time-out less this margin, the drift and the age of the
    /// last heartbeat: 50 to 75 % of a time-out of four ticks or more, 30 to 50 % of one of two. To survive longer
    /// outages, ask for a longer session. A margin of less than the servers' tick voids the promise that a holder is
    /// told of its loss before the next is granted: a holder that is cut off from the other servers together with their
    /// leader may be told later than that, by the difference at most; if the margin is below half a tick, so may a
    /// holder whose server alone is cut off from the leader.
    std::optional<std::chrono::milliseconds> lease_margin;
    /// How long before the end of its lease a guard is declared lost: 0 or more, and within what `lease_margin` leaves.
    std::chrono::milliseconds loss_notice{0};

    /// How long the client waits when all servers have been tried in vain: a time drawn from 0 to `connect_backoff` at
    /// first, then each time up to twice as long, up to the limit. More than 0, at most the limit. As long as a session
    /// may still be taken up again, and for another time-out, the wait is at most an eighth of that. It waits so, too,
    /// before it replaces a connection that was lost before it was of use for a quarter of the time-out, if the one
    /// before that was, too: the first is replaced at once.
    std::chrono::milliseconds connect_backoff{500};
    /// The limit of that.
    std::chrono::milliseconds connect_backoff_limit{5'000};

    /// Once live node paths would total more bytes than this, only a path's first waiter gets a node; the others queue
    /// in the client. At least 1, at most the limit.
    std::size_t node_budget = 512 * 1024;
    /// Once live node paths would total more bytes than this, nothing gets a node: `errc::over_budget`. At most 1 MiB.
    std::size_t node_budget_limit = 1024 * 1024;

    /// The client's log, which is called with each line (the user's guide has the levels). It is called on the client's
    /// strand, first by the constructor, and last by the thread that destroys the execution context, if locks are held
    /// then. It must not block, or call the client; what it throws is dropped. Each line begins with identifier and
    /// session; one that comes again and again is told ever more rarely, with a count. `log_to()` makes one.
    ///
    /// Empty: the environment variable `ZKLOCK_LOG` (`error`, `warning`, `info` or `debug`) has lines of that level and
    /// of graver ones written to stderr; without it no line is put together.
    std::function<void(log_level, std::string_view)> log;

    /// Who is told of the client's states: see `listen_to_connection()`. Empty: nobody.
    connection_listener listener;
};

} // namespace zklock
