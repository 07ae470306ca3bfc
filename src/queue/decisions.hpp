#pragma once
#include "queue/known_queue.hpp"
#include "queue/node_reuse.hpp"
#include "queue/parent_emptying.hpp"

#include <vector>

namespace zklock::queue {

/// Decides what is to be done next, by what is known of the queue: once for each step. That goes to `actions`.
/// `lease_renewable`: grants may be given.
void decide(known_queue& known, node_reuse& reuse, parent_emptying& emptying, std::vector<action>& actions,
            bool lease_renewable);

} // namespace zklock::queue
