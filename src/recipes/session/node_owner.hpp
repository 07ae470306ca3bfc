#pragma once
#include "queue/node_name.hpp"
#include "store/store.hpp"
#include "zklock/events.hpp"

#include <optional>
#include <string>

namespace zklock::recipes {

class session;

/// A contender, as its node tells of it. `name`: what its name tells; nothing if that is no contender's.
[[nodiscard]] contender contender_as_read(const session&, std::string node, std::optional<queue::contender_name> name,
                                          const store::get_reply&);

} // namespace zklock::recipes
