#include "recipes/semaphore/permit_watches.hpp"

#include "queue/owner_data.hpp"
#include "recipes/semaphore/semaphore_path.hpp"

#include <utility>

namespace zklock::recipes {

using store::outcome;

void permit_watches::begin(const semaphore_acquisition& holder, bool again)
{
    for (const permit_ptr& node : holder.nodes)
        if (!std::exchange(node->watched, true) || again) // in the next epoch, if there is none now
            due_.push_back(node);
}

void permit_watches::send()
{
    for (const permit_ptr& node : std::exchange(due_, {}))
        if (node->owner && node->now == permit_node::phase::there)
            send(node);
}

void permit_watches::send(const permit_ptr& node)
{
    node->watched = true;
    session_.store.get(semaphore_.nodes().path_of(*node), true,
                       semaphore_.expect([this, node](const store::get_reply& answer) {
                           switch (answer.result) {
                           case outcome::ok:
                               if (answer.data == queue::revocation_request && node->owner)
                                   node->owner->revoked();
                               return;
                           case outcome::no_node:
                               session_.own_writes().found_gone(semaphore_.nodes().path_of(*node));
                               return semaphore_.nodes().lost_to_others(node);
                           case outcome::unknown: return; // the next epoch watches again
                           default: semaphore_.after_a_while([this, node] { due_.push_back(node); });
                           }
                       }));
}

} // namespace zklock::recipes
