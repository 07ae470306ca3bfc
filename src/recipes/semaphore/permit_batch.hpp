#pragma once
#include "recipes/semaphore/permit_node.hpp"
#include "recipes/session/group_commit.hpp"

#include <cstddef>
#include <vector>

namespace zklock::recipes {

inline constexpr std::size_t most_permits_at_once = 256;

/// Takes from the list what goes into one transaction: at least the first, and others `like` it.
template <class Bytes, class Like>
std::vector<permit_ptr> take_batch(std::vector<permit_ptr>& list, Bytes bytes_of, Like like)
{
    std::size_t count = 0;
    for (std::size_t bytes = 0; count < list.size() && count < most_permits_at_once; ++count) {
        bytes += bytes_of(*list[count]);
        if (count != 0 && (bytes > most_bytes_of_a_batch || !like(*list.front(), *list[count])))
            break;
    }
    std::vector<permit_ptr> some(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count));
    list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count));
    return some;
}

} // namespace zklock::recipes
