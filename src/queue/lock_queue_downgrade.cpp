// How a writer that holds becomes a reader: the sixth part of lock_queue.
#include "queue/lock_queue.hpp"

#include "queue/node_name.hpp"

#include <utility>

namespace zklock::queue {

void lock_queue::downgrade(contender_id id)
{
    contender& c = ours_.at(id);
    if (c.now == phase::held && c.kind == contender_kind::writer)
        move(c, phase::downgrading);
}

void lock_queue::downgraded(contender_id id, bool before)
{
    contender* const found = ours_.find_in(phase::downgrading, id);
    if (found == nullptr)
        return;
    contender& c = *found;
    place reader{c.spot->first.sequence, reader_name(node_of(c)), contender_kind::reader};
    action shares{action::kind::shares, id, reader.node};
    if (!before)
        ++numbers_used_;
    watches_.erase(node_of(c));
    auto moved = view_.extract(c.spot);
    moved.key() = std::move(reader);
    c.spot = view_.insert(std::move(moved)).position;
    c.spot->second = id;
    ours_.read_on(c);
    look_after_holders_ = true; // its node is another
    if (c.abandoned)
        return start_leaving(c);
    move(c, phase::held);
    news_.push_back(std::move(shares));
}

void lock_queue::downgrade_unknown(contender_id id)
{
    contender* const c = ours_.find_in(phase::downgrading, id);
    if (c != nullptr && c->into_reader == downgrade_state::sent)
        c->into_reader = downgrade_state::unknown; // it is asked for again in the next epoch
}

void lock_queue::downgrade_refused(contender_id id)
{
    contender* const c = ours_.find_in(phase::downgrading, id);
    if (c == nullptr)
        return;
    if (c->parent_gone)
        return downgrade_lost(id); // its node is gone, and its number says nothing of the next parent's
    c->into_reader = downgrade_state::unsent;
    look_after_holders_ = true; // an event meanwhile may have used up its watch
    if (c->abandoned)
        start_leaving(*c);
    else
        move(*c, phase::held);
}

void lock_queue::downgrade_lost(contender_id id)
{
    contender* const c = ours_.find_in(phase::downgrading, id);
    if (c == nullptr)
        return;
    const view::iterator place = c->spot;
    forget(*c, c->abandoned ? action::kind::vanished : action::kind::lost);
    watches_.erase(place->first.node);
    view_.erase(place);
    suspect_others();
}

} // namespace zklock::queue
