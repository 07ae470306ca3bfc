// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/same_library.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace zklock {

/// One node in a lock's queue, as `contenders()` lists it. `identifier` and `properties` are what its program wrote,
/// byte for byte and no more than 64 KiB of it. What other clients wrote may be any bytes at all (Curator writes the
/// host's address): escape them before you show them.
struct contender {
    std::string node;            ///< full path
    std::int32_t sequence = 0;   ///< the place in the queue: lower ones come first
    std::int64_t session_id = 0; ///< the session that the node belongs to
    bool ours = false;           ///< it belongs to the client that asked for the list
    std::string identifier;      ///< first line of the node's data
    /// The lines `key=value` that follow; this library writes `mutex_options::properties` there.
    std::map<std::string, std::string> properties;
    bool revoked = false;       ///< it was asked to let go: the request took the place of the data
    std::chrono::system_clock::time_point created; ///< by the clock of the ensemble's leader
    bool shared = false;        ///< a reader of a `shared_mutex`

    /// How long its node has existed at `now`, never less than 0. `created` is by the clock of the ensemble's leader,
    /// and `now` by this machine's: the result is wrong by as much as the two differ.
    [[nodiscard]] std::chrono::system_clock::duration
    age(std::chrono::system_clock::time_point now = std::chrono::system_clock::now()) const
    {
        return now > created ? now - created : std::chrono::system_clock::duration::zero();
    }
};

} // namespace zklock
