// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/acquirable.hpp"
#include "zklock/client.hpp"
#include "zklock/guard.hpp"
#include "zklock/lock_options.hpp"

#include <string>

namespace zklock {

/// A lock in ZooKeeper, named by its path: one holder at a time among all programs that use the path, first come first
/// served in the order in which the servers numbered the contenders. A client may have any number of mutexes per path.
class mutex : public acquirable<guard> {
public:
    /// Sends nothing: each operation tells of bad input. The client stays open as long as a handle of the lock is
    /// there. Throws std::bad_alloc.
    mutex(const client& c, std::string path, mutex_options options = {});
};

} // namespace zklock
