#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace zklock {

/// One node in a lock's queue, as `contenders()` lists it.
struct contender {
    std::string node;           ///< full path
    std::int32_t sequence = 0;  ///< the place in the queue: lower ones come first
    std::int64_t session_id = 0;
    bool ours = false;          ///< of the client that asked
    std::string identifier;     ///< first line of the node's data
    std::chrono::system_clock::time_point created; ///< by the ensemble's clock
};

} // namespace zklock
