#pragma once
#include "recipes/semaphore/permit_node.hpp"

#include <vector>

namespace zklock::recipes {

class permit_nodes;
class semaphore_acquisition;
class semaphore_path;
class session;

/// Watches the nodes of those who hold permits: others may delete them, or ask their holder to let go.
class permit_watches {
public:
    permit_watches(semaphore_path& semaphore, session& s, permit_nodes& nodes)
        : semaphore_(semaphore), session_(s), nodes_(nodes)
    {
    }
    permit_watches(const permit_watches&) = delete;
    permit_watches& operator=(const permit_watches&) = delete;

    /// Watches the holder's nodes from now on.
    void begin(semaphore_acquisition& holder);
    /// The same of those that are not watched yet.
    void begin_rest(semaphore_acquisition& holder);
    /// The watch on that node is used up, or gone with its epoch.
    void renew(const permit_ptr& node) { due_.push_back(node); }
    /// Sends what is due.
    void send();
    void forget_all() noexcept { due_.clear(); }

private:
    void send(const permit_ptr&);

    semaphore_path& semaphore_;
    session& session_;
    permit_nodes& nodes_;
    std::vector<permit_ptr> due_;
};

} // namespace zklock::recipes
