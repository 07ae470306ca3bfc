// How contenders go from phase to phase: the fourth part of lock_queue.
#include "queue/lock_queue.hpp"

#include "queue/node_name.hpp"

#include <utility>

namespace zklock::queue {

void lock_queue::move(contender& c, phase to)
{
    if (to == phase::inspecting)
        to_inspect_.push_back(c.id);
    else if (to == phase::leaving)
        to_remove_.push_back(c.id);
    ours_.put(c, to);
}

void lock_queue::forget(contender& c, action::kind news)
{
    news_.push_back({news, c.id, {}});
    const bool by_others = news == action::kind::vanished && !c.removing;
    if ((news == action::kind::lost && c.now != phase::leaving) || by_others)
        news_.back().node = node_of(c);
    ours_.forget(c);
}

/// Its node never came to be, or is gone without its wish: it queues again, at the tail.
void lock_queue::want_again(contender& c)
{
    move(c, phase::wanted);
    c.prefix.clear();
    c.covered = c.waited_for_another = c.holds_on = c.removing = c.revoked = c.token_known = false;
}

void lock_queue::start_leaving(contender& c, bool by_own_will)
{
    move(c, phase::leaving);
    c.left_by_own_will = by_own_will;
    c.spot = left_.insert(view_.extract(c.spot)).position;
}

void lock_queue::give_place(contender& c, std::string_view node, std::int32_t sequence)
{
    if (!spare_place_) {
        view fresh;
        fresh.emplace(place{}, 0);
        spare_place_ = fresh.extract(fresh.begin());
    }
    place& where = spare_place_.key();
    if (where.node.capacity() < node.size())
        where.node.swap(c.prefix); // which may have room for the number, too
    c.prefix.clear();
    where.node = node;
    where.sequence = sequence;
    where.kind = c.kind;
    c.spot = view_.insert(view_.end(), std::move(spare_place_)); // if it is there already, as another's, it becomes ours
    c.spot->second = c.id;
}

void lock_queue::own_node_gone(contender_id id)
{
    if (contender* const c = ours_.find(id))
        own_node_gone(*c);
}

void lock_queue::own_node_gone(contender& c)
{
    if (c.now == phase::downgrading)
        return; // by others, or by its own transaction: whose answer will tell
    const view::iterator place = c.spot; // the contender's phase is left by way of it
    view& of_it = c.now == phase::leaving ? left_ : view_;
    switch (c.now) {
    case phase::held: forget(c, action::kind::lost); break;
    case phase::lingering:
    case phase::leaving: forget(c, action::kind::vanished); break;
    default: want_again(c);
    }
    forget_watch(place->first.node);
    spare_place_ = of_it.extract(place);
}

void lock_queue::forget_watch(std::string_view node)
{
    if (const auto watch = watches_.find(node); watch != watches_.end())
        watches_.erase(watch);
    if (const auto lasting = lasting_.find(node); lasting != lasting_.end())
        lasting_.erase(lasting);
}

} // namespace zklock::queue
