#pragma once
#include "store/store.hpp"
#include "zklock/errc.hpp"

namespace zklock::recipes {

/// What a user is told when an operation ends because the server answered like this.
[[nodiscard]] inline errc error_of(store::outcome result) noexcept
{
    switch (result) {
    case store::outcome::no_auth: return errc::access_denied;
    case store::outcome::no_child_allowed:
    case store::outcome::bad_arguments: return errc::invalid_path;
    case store::outcome::invalid_acl: return errc::invalid_option; // creator_all without credentials
    case store::outcome::unknown: return errc::not_connected;
    default: return errc::server_error;
    }
}

} // namespace zklock::recipes
