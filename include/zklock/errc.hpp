#pragma once
#include <boost/system/error_code.hpp>
#include <boost/system/error_condition.hpp>
#include <type_traits>

namespace zklock {

/// What an operation of this library can fail with, besides `boost::asio::error::operation_aborted` (cancelled).
enum class errc {
    timed_out = 1,         ///< the deadline passed; the contender's node is gone or its delete is queued
    busy,                  ///< try_acquire: somebody holds the lock, or queues for it
    lost,                  ///< the lock was lost before it was released
    session_expired,       ///< the attempts the options allow were used up by expired sessions
    not_connected,         ///< there is no connection to an ensemble, and the operation does not wait for one
    not_owner,             ///< release of an empty guard, or by somebody who does not hold the lock
    access_denied,         ///< the server's ACL forbids it
    authentication_failed, ///< the server refused the credentials; the client is of no further use
    no_such_chroot,        ///< the chroot's own node does not exist
    invalid_path,          ///< not a valid ZooKeeper path, or one under which nothing can be created
    invalid_option,        ///< an option is out of range or contradicts the ones in use for the path
    over_budget,           ///< one more node could make the session's end unreadable for the servers
    sequence_exhausted,    ///< the parent's sequence numbers are close to 2^31: use a new path
    token_exhausted,       ///< the ensemble's zxid no longer fits a fencing token
    server_error,          ///< the server answered with an error that has no better name here
    closed                 ///< the client is closed, or its last handle went away
};

[[nodiscard]] const boost::system::error_category& error_category() noexcept;

[[nodiscard]] inline boost::system::error_code make_error_code(errc e) noexcept
{
    return {static_cast<int>(e), error_category()};
}

} // namespace zklock

template <> struct boost::system::is_error_code_enum<zklock::errc> : std::true_type {};
