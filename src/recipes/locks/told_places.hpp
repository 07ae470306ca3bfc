#pragma once
#include "recipes/locks/path_part.hpp"
#include "store/store.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace zklock::recipes {

/// Tells contenders of a path that have a listener whom they wait behind, as soon as that is known. It asks for
/// nothing.
class told_places final : private path_part {
public:
    explicit told_places(const path_part& part) : path_part(part) {}

    /// The contender has a node, of that full path; that is to be told.
    void queued(lock_contender&, std::string_view node);
    /// The queue has decided what to do next.
    void settle()
    {
        if (!untold_.empty() && !queue_.known().seeks_coverage())
            tell();
    }
    /// A node of another client's was read, as it is watched.
    void was_read(const std::string& node, const store::get_reply&);

private:
    void tell();
    void drop_told();

    std::vector<queue::contender_id> untold_; ///< some may be forgotten
};

} // namespace zklock::recipes
