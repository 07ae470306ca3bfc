#pragma once
#include "ensemble.hpp"
#include "plan.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace zklock::simulator {

/// That each client deletes the containers that it made itself when nobody uses them any more, and no others.
class container_checker {
public:
    /// A client as long as its process lives: null for a session of somebody else.
    using client_of = std::function<const void*(std::int64_t session)>;

    container_checker(world& w, ensemble& e, const plan& p, client_of);

    /// Those of that client that are empty and still there, although nobody has kept it from deleting them, or what it
    /// has made in them.
    [[nodiscard]] std::vector<std::string> left_by(const void* client) const;

private:
    void written(const transaction& t, const znode_tree::effect& e);
    void created(const transaction& t);
    void removed(const transaction& t);
    void refused(const transaction& t);

    struct container {
        const void* maker = nullptr;
        bool kept = false; ///< somebody was refused to delete it, and leaves it to the servers
    };

    world& world_;
    const ensemble& ensemble_;
    const client_of client_of_;
    const bool calm_; ///< no answer is lost, so that everybody knows what it has made; and no path's numbers are scarce
    std::map<std::string, container> made_; ///< those that are there
};

} // namespace zklock::simulator
