#include "recipes/locks/told_places.hpp"

#include "queue/those_before.hpp"
#include "recipes/locks/lock_path.hpp"
#include "recipes/session/node_owner.hpp"

#include <memory>
#include <utility>

namespace zklock::recipes {

void told_places::queued(lock_contender& its, std::string_view node)
{
    its.queued(node);
    if (its.place_untold())
        untold_.push_back(its.id);
}

/// Who has ended has been told.
void told_places::drop_told()
{
    std::erase_if(untold_, [this](queue::contender_id id) {
        const auto* const its = contenders_.find(id);
        return !its || !(*its)->place_untold();
    });
}

void told_places::tell()
{
    drop_told();
    for (const queue::contender_id id : untold_) {
        const auto [node, is_read] = predecessor_of(queue_.known(), id);
        if (node.empty() || is_read)
            continue;
        const auto* const own = contenders_.find(queue_.known().contender_of(node));
        zklock::contender before = contender_by_name(lock_.full(node), lock_.options().rules.parse(node));
        if (own)
            (*own)->describe(before);
        (*contenders_.find(id))->waits_behind(std::make_shared<const zklock::contender>(std::move(before)));
    }
    drop_told();
}

void told_places::was_read(const std::string& node, const store::get_reply& answer)
{
    if (untold_.empty())
        return;
    drop_told();
    for (const queue::contender_id id : untold_)
        if (predecessor_of(queue_.known(), id).node == node)
            (*contenders_.find(id))
                ->waits_behind(std::make_shared<const zklock::contender>(
                    contender_as_read(session_, lock_.full(node), lock_.options().rules.parse(node), answer)));
}

} // namespace zklock::recipes
