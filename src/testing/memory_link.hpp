#pragma once
#include "testing/request.hpp"
#include "testing/znode_tree.hpp"
#include "zklock/events.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zklock::testing {

class memory_store;

/// A connection, as the servers have it: what is on its way, and its watches.
class memory_link {
public:
    memory_link(std::uint64_t which, std::shared_ptr<memory_store> of, std::int64_t whose)
        : number(which), client(std::move(of)), session(whose)
    {
    }

    const std::uint64_t number;
    const std::shared_ptr<memory_store> client;
    const std::int64_t session;

    bool mute = false;                                              ///< the client is told nothing any more
    std::deque<request> waiting;                                    ///< while the client is parted
    std::deque<std::pair<lease_clock::time_point, answer>> answers; ///< and when they are due

    /// Answers a request that writes nothing, and sets the watch that it asks for.
    [[nodiscard]] answer read(const znode_tree&, const request&, bool exists_needs_read);
    /// Whether the client watches for that; it does so no more.
    [[nodiscard]] bool uses_up_watch(store::event_kind, const std::string& path);

private:
    std::vector<std::string> watched_, children_watched_;
};

} // namespace zklock::testing
