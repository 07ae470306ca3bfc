// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/named_enum.hpp"
#include "zklock/detail/same_library.hpp"
#include "zklock/events.hpp"
#include "zklock/node.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace boost::asio::ssl {
class context; // <boost/asio/ssl/context.hpp>, which who sets none need not include
}

namespace zklock {

/// How much a line of the log matters.
enum class log_level : std::uint8_t {
    error,   ///< nothing goes on until somebody acts: no server can be reached, credentials are refused
    warning, ///< the client goes on, but somebody has lost something, or is about to: a lock, a session, time;
             ///< and acquires that an outage has ended at their deadline
    info,    ///< what has changed: connections, sessions, revocations; and acquires that ended with `timed_out`
    debug    ///< what happens all the time: attempts to connect, acquires that ended without the lock for other
             ///< reasons than time, what the C client says
};

/// The level's name, as it is spelt above.
[[nodiscard]] constexpr std::string_view to_string(log_level level) noexcept
{
    return detail::name_of(level, {"error", "warning", "info", "debug"});
}

/// A log function for `client_options::log` that writes to a file.
///
///     options.log = zklock::log_to(stderr);
///
/// A line begins with the time (UTC) and the level. It leaves by one write if the file's buffer has room for it, so
/// that lines of several clients, threads and processes do not mix: `2026-11-21T18:42:05.123Z warning host:4711
/// 0x100012ab: …`. Control characters are replaced. A line that cannot be written is dropped.
///
/// @param file Stays open as long as the function lives. Null: the function is empty.
/// @param most Lines of this level and of graver ones are written; the others are not even put together.
///
/// Thread safety: it may be called from any thread; one function may serve any number of clients.
[[nodiscard]] std::function<void(log_level, std::string_view)> log_to(std::FILE* file,
                                                                      log_level most = log_level::info);

/// The same for a function of one's own, which is called with the lines of these levels only. (Put into
/// `client_options::log` as it is, it is called with each line, and each is put together for it.)
///
///     options.log = zklock::log_to(my_function, zklock::log_level::warning);
///
/// @param to Empty: so is what is returned.
[[nodiscard]] std::function<void(log_level, std::string_view)>
log_to(std::function<void(log_level, std::string_view)> to, log_level most = log_level::info);

/// Whether and how a client encrypts what it says to the servers, and how the two prove who they are. Off at first.
///
/// With TLS, each connection is encrypted from its first byte, and goes to a server whose certificate was verified:
/// there is no way back to a connection without. It is TLS 1.2 or later. Servers need a `secureClientPort`, which is
/// the port that `client_options::servers` has to name then (2181 where it names none), and Netty's connection factory.
///
/// **Verification.** A server's certificate has to be signed by one of the authorities, be valid today, and be for the
/// server's name as `client_options::servers` spells it, dots at its end aside: one of the DNS names that the
/// certificate lists (its subjectAltName), or its common name if it lists no DNS name, as with ZooKeeper's own clients.
/// A server that is given by its IP address needs that address in the list, and is sent no name (SNI). An address with
/// a scope id (`[fe80::1%eth0]`) is in no certificate: `errc::invalid_option`.
///
/// **When it fails**, that is one attempt that failed: the client goes on with the other servers, and tries again after
/// a pause, since files and certificates can be put right while it runs. While it has failed with all of them, what
/// would end with `errc::not_connected` ends with `errc::tls_failed`; `log` has OpenSSL's reasons.
///
/// **Files** are PEM. They are read when the client connects, by the threads that look up names and never on the
/// executor, and at each later connect if they have changed: so a certificate that is renewed on disk is taken up at
/// the next connect; the connections that are there go on. If what has changed cannot be used (a certificate and a key
/// that do not belong together, because only one of the two is renewed yet, or a file that is missing or unreadable),
/// what was read before stays in use, and `log` says so.
///
/// Options that contradict each other are `errc::invalid_option`, and `find_fault()` names them; it reads no file. So
/// is `enabled` where the library was built without TLS (CMake's option ZKLOCK_TLS).
struct tls_options {
    tls_options() = default; // no aggregate: see client_options

    /// Connect with TLS. If any of the others is set, this has to be: nobody connects in clear by mistake.
    bool enabled = false;

    /// The certificates of the authorities that servers' certificates are signed by: a file with one or more, which
    /// then are the only ones. Empty: the system's, as OpenSSL finds them: its own file and folder (below `openssl
    /// version -d`), or those that the environment names as SSL_CERT_FILE and SSL_CERT_DIR.
    std::string ca_file;

    /// The client's own certificate, for servers that want to see one (`ssl.clientAuth=need`, ZooKeeper's default, and
    /// `want`): a file with it first, followed by those between it and its authority, if there are any. Empty: the
    /// client shows none. With the servers' scheme `x509` it is an identity like those of `client_options::auth`,
    /// without being named there: `acl::creator_all` works.
    std::string certificate_file;
    /// The key of that certificate. Empty: it is in `certificate_file`.
    std::string key_file;
    /// What the key is encrypted with: up to 1,023 bytes. Empty: it is not encrypted. If it is all the same, or if the
    /// password is wrong, connecting fails; nobody is ever asked on a terminal. It appears in no log and in no message.
    std::string key_password;

    /// For who knows Asio: a context of one's own, in place of all files above, which have to be empty then. It can
    /// have keys from elsewhere, ciphers, revocation lists, callbacks. The program links to OpenSSL itself for it.
    ///
    /// The client leaves it as it is, with its callbacks: what is said above of names, addresses and TLS 1.2 is set for
    /// each connection. So a verify callback sees that a name does not match as an error like any other, which it could
    /// overrule; Asio's `host_name_verification` need not be set. A context has to verify (`verify_peer`): one that is
    /// `verify_none`, as contexts are at first, is `errc::invalid_option`. It may serve several clients. It must not be
    /// changed as long as a client has it; its callbacks are called on the client's strand, and must not block or call
    /// the client.
    std::shared_ptr<boost::asio::ssl::context> context;
};

/// By which mechanism a client identifies itself. A server speaks one of the two.
enum class sasl_mechanism : std::uint8_t {
    off,       ///< the client does not identify itself by SASL
    gssapi,    ///< Kerberos
    digest_md5 ///< a user's name and password
};

/// The name, as it is spelt above.
[[nodiscard]] constexpr std::string_view to_string(sasl_mechanism e) noexcept
{
    return detail::name_of(e, {"off", "gssapi", "digest_md5"});
}

/// Whether and how a client identifies itself to the servers by SASL, and they to it. Off at first. The user's guide
/// sets up servers for either mechanism.
///
/// With it, each connection begins with an exchange, in which both prove who they are. Nothing of the client travels
/// before, but its request for a session. Then it has the identity `sasl:name`, beside those of `client_options::auth`
/// and of a certificate: `acl::creator_all` works. The exchange takes two round trips more with DIGEST-MD5, and three
/// with Kerberos; after that, connections without TLS are as fast as without SASL.
///
/// **When it fails**, that is one attempt that failed, and `log` and `last_timeout()` have the reason: the client goes
/// on with the other servers, and tries again after a pause. If every server that answers *refuses* the client (a wrong
/// password, say), it gives up: `errc::authentication_failed`. Its session is left alone then, and ends with its
/// time-out.
///
/// **Kerberos**: the tickets are got before a server is dialed. A Kerberos server (KDC) that does not answer holds
/// nothing up but connecting: neither the executor, nor the end of the execution context. A ticket that ends while the
/// client is connected ends no connection, and a keytab or a cache that is renewed is taken up at the next connect.
///
/// Options that contradict each other are `errc::invalid_option`, and `find_fault()` names them; it reads no file. So
/// is any mechanism where the library was built without SASL (CMake's option ZKLOCK_SASL).
struct sasl_options {
    sasl_options() = default;                    // no aggregate: see client_options
    sasl_options(const sasl_options&) = default; ///< copies the password, too
    sasl_options(sasl_options&&) = default;      ///< moves it
    /// Copies it, and overwrites the one that was there.
    sasl_options& operator=(const sasl_options& from) { return *this = sasl_options(from); }
    /// Moves it, and overwrites the one that was there.
    sasl_options& operator=(sasl_options&& from) noexcept
    {
        if (this != &from) {
            std::destroy_at(this);
            std::construct_at(this, std::move(from));
        }
        return *this;
    }
    /// Overwrites the password in memory.
    ~sasl_options() { forget(password); }

    /// If any of the others is set, this has to be: nobody connects without an identity by mistake.
    sasl_mechanism mechanism = sasl_mechanism::off;

    /// DIGEST-MD5: who the client is, in UTF-8. The servers' realm comes from themselves.
    std::string user;
    /// DIGEST-MD5: that user's password, in UTF-8. It never leaves the client, and appears in no log and in no message.
    ///
    /// DIGEST-MD5 is historic (RFC 6331). Without TLS, who listens on the network can try passwords at leisure, and who
    /// can change what is sent there can act as the client: use long passwords, or TLS.
    std::string password;

    /// Kerberos: the servers' principal, such as `zookeeper/zk1.example.com@EXAMPLE.COM`, if all have the same. Empty:
    /// `zookeeper/` and the name by which `client_options::servers` calls the server that is tried.
    std::string server_principal;
    /// Kerberos: the file with the client's own key, for programs that run without a user. The tickets are got with it,
    /// and kept in memory, unless `credential_cache` says where else. Empty: there are tickets in the credential cache.
    std::string keytab;
    /// Kerberos: where the client's tickets are, such as `FILE:/run/shop/tickets`. Empty: where Kerberos has them by
    /// itself, as the environment (KRB5CCNAME) or `krb5.conf` says; with a keytab, in memory.
    std::string credential_cache;

private:
    static void forget(std::string& secret) noexcept
    {
        secret.resize(secret.capacity()); // also what is left behind the end, as of a text that was moved away
        for (volatile char& each : secret)
            each = '\0';
    }
};

/// Whether and how clients tell each other directly that a lock is free, and do not wait for the servers to say so. Off
/// at first, because it opens a port.
///
/// A client that lets a node go proves that to the client that waits for it, by a secret that the node's name commits
/// to, over a TCP connection between the two. The order of a queue remains the servers' affair: nobody can take a lock
/// by what it sends here, or jump a queue. A client that reaches nobody, or that nobody reaches, waits for the servers
/// as without; and so does everybody whose predecessor is a client without this option, or of another library.
///
/// **Who may connect** is for the network to say: a program that reaches the port can take one of a few places there.
/// It can also learn when a node is let go, if it knows the node's name. Names of locks are not said there. Nothing is
/// encrypted.
///
/// Values that cannot be used are `errc::invalid_option`, and `find_fault()` names them; so is `listen` where the
/// library was built without TLS (CMake's option ZKLOCK_TLS), because the hash is OpenSSL's.
struct handoff_options {
    handoff_options() = default; // no aggregate: see client_options

    /// The address and port on which the client is told who waits, such as `10.1.2.3:7411`, `[2001:db8::7]:0` or
    /// `0.0.0.0:0`: numeric; with port 0 the system chooses one. Empty: the client neither listens nor connects to
    /// others. If the address is not to be had (another process listens there, say), the client tries again and again,
    /// `log` tells why, and locks work as without.
    std::string listen;

    /// Where others reach the client, if that is not where it listens: an address, with or without a port, numeric.
    /// Each client needs its own, or takes others for itself. Empty: where it listens; and if that is any address
    /// (`0.0.0.0`, `[::]`), the one from which it is connected to its ZooKeeper server. `log` tells which.
    std::string advertise;

    /// The networks in which the client may connect to others, such as `10.0.0.0/8`, `2001:db8::/32`, or one address.
    /// Others write their addresses into nodes, where everybody who may write there can put what they like: so a client
    /// connects to no address outside of these, and to none if there are none. Link-local and multicast addresses are
    /// not connected to in any case, loopback addresses only if `127.0.0.0/8` or `::1`, or a part of them, is
    /// listed by itself.
    std::vector<std::string> peers;
};

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
    return detail::name_of(e, {"container", "persistent"});
}

/// How a client connects and how careful it is. Every operation reports values that are out of range as
/// `errc::invalid_option`; `find_fault()` names the option, and so does `log`.
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
    /// a tick. State less for servers with shorter ticks and sessions of less than 10 s: their locks then survive
    /// longer outages, and those of less than 8 s need fewer heartbeats. If you state less than the servers' tick, such
    /// an answer may let two hold one lock; a client cannot see that, but `zklock doctor` looks, where the servers tell
    /// (`conf`; without TLS).
    std::chrono::milliseconds server_tick{2'000};
    /// The safety margin of the lease: a request renews the lease only once a later one, sent at least this long after
    /// its answer, is answered too. It is 0 or more, and leaves room in the time-out asked for, beside drift and
    /// notice, for two heartbeats. Empty: 21 % of the time-out, and at least `server_tick`.
    ///
    /// So a lock is held without a connection for about the time-out less this margin, the drift and the age of the
    /// last heartbeat: 50 to 75 % of a time-out of five ticks or more, 40 to 75 % of one of four, 30 to 50 % of one of
    /// two. To survive longer outages, ask for a longer session. A margin of less than the servers' tick voids the
    /// promise that a holder is told of its loss before the next is granted: a holder that is cut off from the other
    /// servers together with their leader may be told later than that, by the difference at most; if the margin is
    /// below half a tick, so may a holder whose server alone is cut off from the leader.
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

/// An option that is out of range, or does not go with another one: why operations end with `errc::invalid_option`.
struct option_fault {
    option_fault() = default; // no aggregate: see client_options
    /// A fault of these three.
    option_fault(std::string the_option, std::string the_value, std::string what_is_accepted);

    std::string option;   ///< the member's name, such as `session_timeout`
    std::string value;    ///< what it is, such as `50 ms`; of credentials, nothing that is secret
    std::string accepted; ///< what it has to be, in words
};

/// One line: `session_timeout is 50 ms, and has to be 100 ms to 2147483647 ms`.
[[nodiscard]] std::string to_string(const option_fault&);

/// The first option that every operation would refuse, if there is one. Nothing is connected, and nothing looked up:
/// so a program can check its configuration at the start. From any thread.
///
///     if (const auto fault = zklock::find_fault(options))
///         throw std::runtime_error("zookeeper: " + to_string(*fault));
///
/// What only turns out later is told by `client_options::log`, at level error, with the same words: servers that grant
/// a session too short for a lease, and options that contradict those of another lock of the client on the same path.
[[nodiscard]] std::optional<option_fault> find_fault(const client_options&);

/// Which rule that path breaks, in words, so that no lock can be there: why operations end with `errc::invalid_path`.
/// Nothing if it breaks none. `chroot` is the client's, empty or `/` if it has none. Nothing is connected: so a program
/// can check its configuration at the start. What it returns is there for ever; it throws nothing. From any thread.
///
///     if (const auto fault = zklock::find_path_fault(path))
///         throw std::runtime_error("the lock's path: " + std::string(*fault));
///
/// `client_options::log` tells the same of each path that is refused, at level error, with the same words. What only
/// the servers know is told by neither: that one of the nodes above the path is ephemeral, and can have no children.
[[nodiscard]] std::optional<std::string_view> find_path_fault(std::string_view path,
                                                              std::string_view chroot = {}) noexcept;

} // namespace zklock
