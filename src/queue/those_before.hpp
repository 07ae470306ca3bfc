#pragma once
#include "queue/contender.hpp"

#include <cstddef>
#include <string_view>

namespace zklock::queue {

class known_queue;

/// Who is before a contender that waits, as far as it is known.
struct those_before {
    std::string_view first; ///< in the queue; empty if there is none, or it is one of ours and does not hold
    std::size_t count = 0;  ///< as last seen
    bool excluded = false;
};

/// It is excluded by a node of another client's, by one of ours that holds, or by one of ours that waits for such a
/// node. Once it is covered, all nodes before it count that are not known to be gone. Until then another client's
/// counts only before one of ours that waits and is covered, or while it is watched: it may be gone since a contender
/// that left has seen it.
[[nodiscard]] those_before before(const known_queue&, contender_id, std::size_t most_counted);

/// Whom a contender waits behind.
struct predecessor {
    std::string_view node; ///< the nearest before it that excludes it; empty if none is known
    bool is_read = false;  ///< the answer to its watch will come, and tell more
};
[[nodiscard]] predecessor predecessor_of(const known_queue&, contender_id);

/// Whether a contender of that kind would be excluded that has no place.
[[nodiscard]] bool excludes_newcomers(const known_queue&, contender_kind);

} // namespace zklock::queue
