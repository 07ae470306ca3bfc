#pragma once
#include "queue/lock_queue.hpp"
#include "recipes/locks/contender_table.hpp"
#include "recipes/session/session.hpp"
#include "store/store.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zklock::recipes {

/// Tells contenders of a path that have a listener whom they wait behind, as soon as that is known. It asks for nothing.
class told_places {
public:
    told_places(const session& s, const std::string& path, const queue::name_rules& rules, const queue::lock_queue& queue,
                contender_table& contenders)
        : session_(s), path_(path), rules_(rules), queue_(queue), contenders_(contenders)
    {
    }

    /// The contender has a node, of that full path; that is to be told.
    void queued(lock_contender&, std::string_view node);
    /// The queue has decided what to do next.
    void settle()
    {
        if (!untold_.empty() && !queue_.seeks_coverage())
            tell();
    }
    /// A node of another client's was read, as it is watched.
    void was_read(const std::string& node, const store::get_reply&);

private:
    void tell();
    void drop_told();
    [[nodiscard]] zklock::contender by_name(std::string_view node) const;

    const session& session_;
    const std::string& path_;
    const queue::name_rules& rules_;
    const queue::lock_queue& queue_;
    contender_table& contenders_;
    std::vector<queue::contender_id> untold_; ///< some may be forgotten
};

} // namespace zklock::recipes
