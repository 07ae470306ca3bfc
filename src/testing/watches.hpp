#pragma once
#include "testing/request.hpp"
#include "testing/znode_tree.hpp"

#include <string>
#include <vector>

namespace zklock::testing {

/// What is watched over one connection, as its server has it; and what is read there.
struct watches {
    std::vector<std::string> nodes;    ///< each once, also those that are missing
    std::vector<std::string> children; ///< by their parents

    /// Answers a request that writes nothing, and sets the watch that it asks for.
    [[nodiscard]] answer read(const znode_tree&, const request&, bool exists_needs_read);
    /// Whether there is a watch that this sets off; it is there no more.
    [[nodiscard]] bool use_up(store::event_kind, const std::string& path);
};

} // namespace zklock::testing
