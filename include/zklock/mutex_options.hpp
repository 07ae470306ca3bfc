#pragma once
#include "zklock/client_options.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace zklock {

/// How contenders are named, so that programs of other clients can share the path.
enum class naming : std::uint8_t {
    curator, ///< `_c_<uuid>-lock-<sequence>`
    kazoo    ///< `<uuid>__lock__<sequence>`
};

/// Options of a mutex. `names` holds for the path: mutexes of one client on one path must agree on it.
struct mutex_options {
    mutex_options() = default; // gcc 12 destroys temporaries of aggregates twice around co_await

    naming names = naming::curator;
    parent_kind parents = parent_kind::container;
    /// First line of the contender's data, up to 64 KiB. Empty: the client's.
    std::string identifier;
    /// How often one acquire may try to create its node: each lost connection, expired session or outside deletion
    /// that costs it its node uses one up. 0: as often as the deadline allows.
    unsigned max_attempts = 0;
};

} // namespace zklock
