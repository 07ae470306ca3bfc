#pragma once
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
    std::string scheme;
    std::string secret;
};

/// Who may do what with the nodes that the client creates.
enum class acl : std::uint8_t {
    open,               ///< anybody may do anything
    creator_all,        ///< only who has the client's credentials: `client_options::auth` must have some
    creator_all_or_read ///< as creator_all, and anybody may read
};

/// What is created where a lock's parent is missing.
enum class parent_kind : std::uint8_t {
    /// The client that made it deletes it, if it is empty, when it has not used the path for `session_timeout` / 2, or up
    /// to twice as long. It looks first: what somebody else has written data into, or put in its place, stays, unless
    /// that happens in the moment between the look and the delete. Of those that stay, because somebody else used them
    /// then or the client was closed, the servers delete some in each minute, whatever their data: a node that is to last
    /// has to be a persistent one. Persistent where the servers know no containers.
    container,
    persistent
};

enum class log_level : std::uint8_t { error, warning, info, debug };

/// How a client connects and how careful it is. Out-of-range values are reported by every operation as
/// `errc::invalid_option`.
struct client_options {
    client_options() = default; // gcc 12 destroys temporaries of aggregates twice around co_await

    /// `host:port,host:port`, also IPv6 (`[::1]:2181`). Names are looked up asynchronously, together, again at need.
    std::string servers = "127.0.0.1:2181";
    /// Prepended to every path; its node must exist. Empty for none.
    std::string chroot;
    /// What is asked of the servers. They may grant another, but all of an ensemble the same. 100 ms to 2^31 - 1 ms; no
    /// more than 2^30 - 1 (12 days) are asked for, because of the C client. The nodes of a dead client live as long as
    /// this.
    ///
    /// If what they grant leaves no time for a lease, every acquire fails with `errc::invalid_option` (and `log` is
    /// told why). A lease needs of the time-out T: T * `clock_drift`, the margin, `loss_notice`, and for heartbeats 100
    /// ms (T / 4 if that is less, T / 32 if that is more). With the other options as they are, 2,122 ms are enough,
    /// 1.06 ticks; with ticks of 500 ms 607 ms, 1.21 ticks; with ticks of 200 ms 271 ms, 1.35 ticks.
    std::chrono::milliseconds session_timeout{10'000};
    std::vector<credentials> auth;
    acl access = acl::open;

    /// Who this is, for people who look: one line, up to 64 KiB, the first of each contender's data. Empty: `host:pid`.
    std::string identifier;

    /// How much faster than ours the servers' clock may run, as a fraction, 0 to below 0.5: 0.01 is 36 s in an hour.
    double clock_drift = 0.01;
    /// The servers' `tickTime`, or more; more than 0. A leader that its quorum has given up goes on answering for up to
    /// a tick. State less for servers with shorter ticks and sessions of less than 8 s: their locks then survive longer
    /// outages, with fewer heartbeats. Stating less than the servers' tick risks two holders of one lock after such an
    /// answer; nobody checks it.
    std::chrono::milliseconds server_tick{2'000};
    /// An answered request shows that the session lived only when another one is answered that was sent this much later
    /// than that answer. 0 or more, and so little that the time-out asked for leaves time for two heartbeats beside
    /// margin, drift and notice. Empty: a quarter of the time-out, and at least `server_tick`. So a lock is held,
    /// without a connection, for about the time-out less this margin, the drift and the age of the last heartbeat: 50
    /// to 75 % of a time-out of four ticks or more, 30 to 50 % of one of two. To survive longer outages, ask for a
    /// longer session. A margin of less than the servers' tick voids the promise that a holder is told before the next
    /// is granted: a holder that is cut off from the other servers together with their leader may be told of its loss
    /// after that, by the difference at most; below half a tick also where only its server is cut off from the leader.
    std::optional<std::chrono::milliseconds> lease_margin;
    /// How long before the end of its lease a guard is declared lost: 0 or more, and within what `lease_margin` leaves.
    std::chrono::milliseconds loss_notice{0};

    /// Between attempts to connect: doubled from the first to the last, with jitter. More than 0, at most the limit.
    /// While a session may still be taken up again, at most an eighth of its time-out.
    std::chrono::milliseconds connect_backoff{50};
    std::chrono::milliseconds connect_backoff_limit{5'000};

    /// Bytes of live node paths past which further waiters of a path that has a node already queue in the client. At
    /// least 1, at most the limit.
    std::size_t node_budget = 512 * 1024;
    /// Bytes past which nothing gets a node: `errc::over_budget`. At most 1 MiB.
    std::size_t node_budget_limit = 1024 * 1024;

    /// Called on the client's strand; must not block, throw, or call the client. Empty: silent.
    std::function<void(log_level, std::string_view)> log;
};

} // namespace zklock
