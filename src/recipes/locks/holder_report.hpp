#pragma once
#include "recipes/locks/holder_look.hpp"
#include "recipes/locks/path_part.hpp"
#include "store/store.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace zklock::recipes {

/// What contenders of a lock_path are told of those before them: when their wait ends by time; and, if they have a
/// listener, as soon as it is known whom they wait behind, for which nothing is asked.
class holder_report final : private path_part {
public:
    explicit holder_report(const path_part& part) : path_part(part) {}

    /// The contender's deadline is near. Looks once, for all whose deadline is, at who holds the lock: who waits
    /// watches its predecessor only, and may not know that the first has gone.
    void look_for(const lock_contender&);
    /// Who is before the contender now.
    [[nodiscard]] known_wait describe_wait(const lock_contender&) const;
    void epoch_ended() noexcept { look_.epoch_ended(); }

    /// The contender has a node, of that full path; its listener is to be told.
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
    [[nodiscard]] std::size_t count_before(const std::string& own, const std::vector<std::string>& listed) const;

    void tell();
    void drop_told();

    last_holder_look look_;
    std::vector<queue::contender_id> untold_; ///< some may be forgotten
};

} // namespace zklock::recipes
