#pragma once
#include "queue/node_name.hpp"
#include "store/store.hpp"
#include "zklock/events.hpp"

#include <optional>
#include <string>

namespace zklock::recipes {

class session;

/// A contender of whom no more is known than where its node is, and its name.
[[nodiscard]] contender contender_by_name(std::string node, const std::optional<queue::contender_name>& name);

/// A contender, as its node tells of it. `name`: what its name tells; nothing if that is no contender's.
[[nodiscard]] contender contender_as_read(const session&, std::string node, std::optional<queue::contender_name> name,
                                          const store::get_reply&);

} // namespace zklock::recipes
