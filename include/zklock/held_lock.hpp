#pragma once
#include <cstdint>
#include <string>

namespace zklock {

/// One of several locks that are held together.
struct held_lock {
    std::string path;               ///< of the lock
    std::string node;               ///< full path of the node it is held by
    std::int64_t fencing_token = 0; ///< see `guard::fencing_token()`
};

} // namespace zklock
