// How contenders go from phase to phase: the fourth part of lock_queue.
#include "queue/lock_queue.hpp"

#include "queue/mutants.hpp"
#include "queue/node_name.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace zklock::queue {

/// From here on `more` of them go into the list without a throw.
template <class List> void lock_queue::make_room(List& list, std::size_t more)
{
    if (list.capacity() - list.size() < more)
        list.reserve(std::max(2 * list.capacity(), list.size() + more));
}

template void lock_queue::make_room(std::vector<action>&, std::size_t);
template void lock_queue::make_room(std::vector<contender_id>&, std::size_t);

contender* lock_queue::find_in(phase where, contender_id id)
{
    const auto found = contenders_.find(id);
    return found != contenders_.end() && found->second.now == where ? &found->second : nullptr;
}

bool lock_queue::holds(contender_id id) const
{
    const auto found = contenders_.find(id);
    const phase now = found == contenders_.end() ? phase::leaving : found->second.now;
    return now == phase::held || (now == phase::downgrading && !found->second.abandoned);
}

/// Nothing has changed if it throws.
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
void lock_queue::put(contender& c, phase to) noexcept
{
    const auto leaves = [](phase p) { return p == phase::leaving || p == phase::lingering; };
    const auto has_node = [=](phase p) { return p != phase::wanted && !leaves(p); };
    const bool counted = !c.abandoned;
    switch (c.now) {
    case phase::wanted: wanted_.erase(wanted_.iterator_to(c)); break;
    case phase::creating: creating_.erase(creating_.iterator_to(c)); break;
    case phase::unknown: unknown_.erase(unknown_.iterator_to(c)); break;
    case phase::inspecting: break;
    case phase::queued:
        queued_.erase(queued_.iterator_to(c));
        looking_once_ -= c.look_once;
        break;
    case phase::held: held_.erase(held_.iterator_to(c)); break;
    case phase::downgrading: downgrading_.erase(downgrading_.iterator_to(c)); break;
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
    case phase::wanted: wanted_.insert(wanted_.end(), c); break;
    case phase::creating: creating_.insert(creating_.end(), c); break;
    case phase::unknown: unknown_.insert(unknown_.end(), c); break;
    case phase::inspecting: break;
    case phase::queued:
        queued_.insert(queued_.end(), c);
        looking_once_ += c.look_once;
        break;
    case phase::held: held_.insert(held_.end(), c); break;
    case phase::downgrading: downgrading_.insert(downgrading_.end(), c); break;
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
        try {
            news_.back().node = node_of(c);
        } catch (const std::bad_alloc&) { // NOLINT: only the log tells it
        }
    if (c.now != phase::leaving)
        put(c, phase::leaving);
    contenders_.erase(which);
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
    place where{sequence, std::exchange(c.prefix, {}), c.kind}; // that name may have room for the number, too
    try {
        where.node = node;
        c.spot = view_.insert_or_assign(view_.end(), std::move(where), c.id);
    } catch (...) { // the node is looked for by that name
        where.node.resize(prefix_of(node, sequence).size());
        c.prefix = std::move(where.node);
        throw;
    }
}

void lock_queue::own_node_gone(contender_id id)
{
    if (const auto found = contenders_.find(id); found != contenders_.end())
        own_node_gone(found);
}

void lock_queue::own_node_gone(contenders::iterator whose)
{
    contender& c = whose->second;
    if (c.now == phase::downgrading || (ZKLOCK_MUTANT(own_deleted_node_ignored) && c.now == phase::queued))
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
    of_it.erase(place);
}

void lock_queue::forget_watch(std::string_view node)
{
    if (const auto watch = watches_.find(node); watch != watches_.end())
        watches_.erase(watch);
    if (const auto lasting = lasting_.find(node); lasting != lasting_.end())
        lasting_.erase(lasting);
}

} // namespace zklock::queue
