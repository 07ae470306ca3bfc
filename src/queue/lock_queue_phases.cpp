// How contenders go from phase to phase: the fourth part of lock_queue.
#include "queue/lock_queue.hpp"

#include "queue/node_name.hpp"

#include <utility>

namespace zklock::queue {

const contender* lock_queue::find(contender_id id) const
{
    if (recent_ != nullptr && recent_->id == id)
        return recent_;
    const auto found = contenders_.find(id);
    if (found == contenders_.end())
        return nullptr;
    return recent_ = &found->second;
}

const contender& lock_queue::at(contender_id id) const
{
    const contender* const found = find(id);
    return found != nullptr ? *found : contenders_.at(id); // which throws
}

contender* lock_queue::find_in(phase where, contender_id id)
{
    contender* const found = find(id);
    return found != nullptr && found->now == where ? found : nullptr;
}

bool lock_queue::holds(contender_id id) const
{
    const contender* const found = find(id);
    const phase now = found == nullptr ? phase::leaving : found->now;
    return now == phase::held || (now == phase::downgrading && !found->abandoned);
}

void lock_queue::move(contender& c, phase to)
{
    if (to == phase::inspecting)
        to_inspect_.push_back(c.id);
    else if (to == phase::leaving)
        to_remove_.push_back(c.id);
    put(c, to);
}

/// Takes the contender out of its phase's index and puts it into the next one's: mostly as the last there, for ids,
/// stamps and sequence numbers all grow.
void lock_queue::put(contender& c, phase to)
{
    const auto leaves = [](phase p) { return p == phase::leaving || p == phase::lingering; };
    const auto has_node = [=](phase p) { return p != phase::wanted && !leaves(p); };
    const bool counted = !c.abandoned;
    switch (c.now) {
    case phase::wanted: wanted_.remove(c); break;
    case phase::creating: creating_.remove(c); break;
    case phase::unknown: unknown_.remove(c); break;
    case phase::inspecting: break;
    case phase::queued:
        queued_.remove(c);
        looking_once_ -= c.look_once;
        break;
    case phase::held: held_.remove(c); break;
    case phase::downgrading: downgrading_.remove(c); break;
    case phase::lingering: lingering_ = nullptr; break;
    case phase::leaving: break;
    }
    if (counted) {
        with_node_ -= has_node(c.now);
        with_node_ += has_node(to);
        const bool ceases = leaves(to) && !leaves(c.now);
        contending_ -= ceases;
        contending_alone_ -= ceases && !is_shared(c.kind);
    }
    c.now = to;
    switch (to) {
    case phase::wanted: wanted_.add(c); break;
    case phase::creating: creating_.add(c); break;
    case phase::unknown: unknown_.add(c); break;
    case phase::inspecting: break;
    case phase::queued:
        queued_.add(c);
        looking_once_ += c.look_once;
        break;
    case phase::held: held_.add(c); break;
    case phase::downgrading: downgrading_.add(c); break;
    case phase::lingering: lingering_ = &c; break;
    case phase::leaving: break;
    }
}

void lock_queue::forget(contenders::iterator which, action::kind news)
{
    contender& c = which->second;
    news_.push_back({news, c.id, {}});
    const bool by_others = news == action::kind::vanished && !c.removing;
    if ((news == action::kind::lost && c.now != phase::leaving) || by_others)
        news_.back().node = node_of(c);
    if (c.now != phase::leaving)
        put(c, phase::leaving);
    if (recent_ == &c)
        recent_ = nullptr;
    spare_contender_ = contenders_.extract(which);
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
    if (const auto found = contenders_.find(id); found != contenders_.end())
        own_node_gone(found);
}

void lock_queue::own_node_gone(contenders::iterator whose)
{
    contender& c = whose->second;
    if (c.now == phase::downgrading)
        return; // by others, or by its own transaction: whose answer will tell
    const view::iterator place = c.spot; // the contender's phase is left by way of it
    view& of_it = c.now == phase::leaving ? left_ : view_;
    switch (c.now) {
    case phase::held: forget(whose, action::kind::lost); break;
    case phase::lingering:
    case phase::leaving: forget(whose, action::kind::vanished); break;
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
