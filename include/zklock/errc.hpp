// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/named_enum.hpp"
#include "zklock/detail/same_library.hpp"

#include <boost/system/error_code.hpp>
#include <boost/system/error_condition.hpp>

#include <string_view>
#include <system_error>
#include <type_traits>

namespace zklock {

using boost::system::error_code;

/// What an operation of this library can fail with, besides `boost::asio::error::operation_aborted` (cancelled).
enum class errc {
    timed_out = 1,         ///< an acquire's deadline passed, and others were before it, or no permit was free. The
                           ///< servers have said so, and were heard from within the session's time-out. The acquire's
                           ///< node is gone, or its delete queued. See `condition::not_in_time`
    busy,                  ///< a `try_acquire()`: somebody holds the lock or queues for it, or too few permits are free
                           ///< (an `acquire()` with no time to wait says `timed_out`)
    lost,                  ///< the lock was lost before it was released. An acquire ends with it if the lock was lost
                           ///< before the grant could be told, or if others deleted its node and no attempts were left
    session_expired,       ///< expired sessions used up the attempts that the options allow
    not_connected,         ///< a deadline passed, and no servers had told by then that others are before the acquire:
                           ///< there was no connection, or no answer came in time. Or the operation does not wait for
                           ///< a connection, and there is none
    not_owner,             ///< the guard is empty, or holds nothing that can be released, downgraded, committed by, …
    access_denied,         ///< the server's ACL forbids it
    authentication_failed, ///< every server that answered refuses the credentials, or demands others: the log tells
                           ///< which of both. The client is of no further use
    no_such_chroot,        ///< the chroot's own node does not exist
    invalid_path,          ///< it is no valid path: `find_path_fault()` and the log tell which rule it breaks; or what
                           ///< was to be created would have an ephemeral node as its parent
    invalid_option,        ///< an option is out of range, or contradicts others of the path; a request is too large
    over_budget,           ///< one more node could make the session's end unreadable for the servers
    sequence_exhausted,    ///< the path's sequence numbers are close to 2^31: see `mutex_options::parents`
    token_exhausted,       ///< the ensemble's zxid no longer fits a fencing token
    server_error,          ///< the server answered with an error that has no better name here: the log has its number
    closed,                ///< the client is closed, or its last handle went away
    no_node,               ///< there is no such node, or no parent for it
    node_exists,           ///< there is such a node already
    bad_version,           ///< the node has another version than the one asked for
    not_empty,             ///< the node has children
    outcome_unknown,       ///< a write was sent and its answer lost: it may have been done, or not, and is not repeated
    not_upgradable,        ///< a reader cannot become a writer: two of them would wait for each other for ever
    tls_failed,            ///< `not_connected`, because TLS has failed with all servers: a certificate, theirs or the
                           ///< client's, was refused or could not be read, or they speak no TLS. The log tells which
                           ///< (see `tls_options`)
    quota_exceeded         ///< a quota of the node or of one above it is used up, in nodes or in bytes
};

/// The error's name, as it is spelt above; the message of its error_code says more.
[[nodiscard]] constexpr std::string_view to_string(errc e) noexcept
{
    // They begin at 1.
    return detail::name_of(e, {"unknown",
                               "timed_out",
                               "busy",
                               "lost",
                               "session_expired",
                               "not_connected",
                               "not_owner",
                               "access_denied",
                               "authentication_failed",
                               "no_such_chroot",
                               "invalid_path",
                               "invalid_option",
                               "over_budget",
                               "sequence_exhausted",
                               "token_exhausted",
                               "server_error",
                               "closed",
                               "no_node",
                               "node_exists",
                               "bad_version",
                               "not_empty",
                               "outcome_unknown",
                               "not_upgradable",
                               "tls_failed",
                               "quota_exceeded"});
}

/// The category of all `errc`. Its codes compare equal to the `std::errc` that mean the same, where there is one. It
/// may be called from any thread.
[[nodiscard]] const boost::system::error_category& error_category() noexcept;

/// Makes an error code of an `errc`: argument-dependent lookup finds it where one is converted.
[[nodiscard]] inline boost::system::error_code make_error_code(errc e) noexcept
{
    return {static_cast<int>(e), error_category()};
}

/// What several errors have in common. An error code, or what a `std::error_code` was made of it, is compared with it:
/// `ec == zklock::condition::not_in_time`.
enum class condition {
    not_in_time = 1 ///< so ends an acquire at its deadline, and `client::wait_connected()`: with `timed_out`,
                    ///< `not_connected` or `tls_failed`. A try that finds no connection ends with one of the last two
};

/// The condition's name, as it is spelt above.
[[nodiscard]] constexpr std::string_view to_string(condition c) noexcept
{
    return c == condition::not_in_time ? "not_in_time" : "unknown";
}

/// The category of all `condition`. It may be called from any thread.
[[nodiscard]] const boost::system::error_category& condition_category() noexcept;

/// Makes an error condition of a `condition`: argument-dependent lookup finds it where one is compared.
[[nodiscard]] inline boost::system::error_condition make_error_condition(condition c) noexcept
{
    return {static_cast<int>(c), condition_category()};
}

} // namespace zklock

template <> struct boost::system::is_error_code_enum<zklock::errc> : std::true_type {};
template <> struct boost::system::is_error_condition_enum<zklock::condition> : std::true_type {};
template <> struct std::is_error_condition_enum<zklock::condition> : std::true_type {};
