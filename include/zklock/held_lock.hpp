// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

namespace zklock {

/// One of several locks that are held together.
struct held_lock {
    std::string path;               ///< the lock's path
    std::string node;               ///< full path of the node by which it is held
    std::int64_t fencing_token = 0; ///< see `guard::fencing_token()`
};

} // namespace zklock
