#pragma once
#include "store/store.hpp"
#include "zklock/errc.hpp"

#include <boost/system/error_code.hpp>

#include <cerrno>

namespace zklock::recipes {

/// What a user is told when an operation ends because the server answered like this.
[[nodiscard]] inline errc error_of(store::outcome result) noexcept
{
    switch (result) {
    case store::outcome::no_auth: return errc::access_denied;
    case store::outcome::no_child_allowed:
    case store::outcome::bad_arguments: return errc::invalid_path;
    case store::outcome::invalid_acl: return errc::invalid_option; // creator_all without credentials
    case store::outcome::quota_exceeded: return errc::quota_exceeded;
    case store::outcome::unknown: return errc::not_connected;
    default: return errc::server_error;
    }
}

/// The error with which Asio's operations end that were cancelled.
[[nodiscard]] inline boost::system::error_code cancelled() noexcept
{
    return {ECANCELED, boost::system::system_category()};
}

/// What a user is told of an operation on a node that he has named himself, and that may not be as he thinks.
[[nodiscard]] inline errc node_error_of(store::outcome result) noexcept
{
    switch (result) {
    case store::outcome::no_node: return errc::no_node;
    case store::outcome::node_exists: return errc::node_exists;
    case store::outcome::not_empty: return errc::not_empty;
    case store::outcome::bad_version: return errc::bad_version;
    default: return error_of(result);
    }
}

} // namespace zklock::recipes
