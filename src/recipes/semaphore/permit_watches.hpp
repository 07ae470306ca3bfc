#pragma once
#include "recipes/semaphore/permit_node.hpp"
#include "recipes/semaphore/semaphore_part.hpp"

#include <vector>

namespace zklock::recipes {

class semaphore_acquisition;

/// Watches the nodes of those who hold permits: others may delete them, or ask their holder to let go.
class permit_watches final : private semaphore_part {
public:
    using semaphore_part::semaphore_part;

    /// Watches the holder's nodes from now on. `again`: those that are watched are looked at once more.
    void begin(const semaphore_acquisition& holder, bool again);
    /// The watch on that node is used up, or gone with its epoch.
    void renew(const permit_ptr& node) { due_.push_back(node); }
    /// Sends what is due.
    void send();
    void forget_all() noexcept { due_.clear(); }

private:
    void send(const permit_ptr&);

    std::vector<permit_ptr> due_;
};

} // namespace zklock::recipes
