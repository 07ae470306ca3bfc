// Where the parent's numbers are scarce: the fifth part of lock_queue.
#include "queue/lock_queue.hpp"

#include "queue/node_name.hpp"

#include <iterator>

namespace zklock::queue {

/// What a look at the parent says of its next number. Past the numbers' end it says too little: a Stat counts to 2^31
/// only.
void lock_queue::note_ever(std::int32_t ever)
{
    if (next_number_ < numbers_end)
        next_number_ = ever;
}

/// The parent is gone, and the next one has not had a child yet.
void lock_queue::numbers_begin_again()
{
    next_number_ = 0;
    emptying_ = emptying::unasked;
    awaited_.clear();
}

/// Has the parent deleted once it is empty, if somebody is held back. It does not so while a node of ours is there:
/// that says that the parent is not empty, and its end will be known.
void lock_queue::empty_parent(std::vector<action>& actions)
{
    if (emptying_ == emptying::impossible) {
        if (next_number_ < sequence_limit)
            return; // creates go on
        send_away(action::kind::exhausted, asked_for_);
        if (!ours_.wanted().empty())
            emptying_ = emptying::unasked; // for those who have come since: it may be possible by now
    }
    if (ours_.with_node() != 0)
        send_away(action::kind::refused);
    const bool own_nodes = ours_.with_node() != 0 || !left_.empty() || !ours_.creating().empty() ||
                           !ours_.unknown().empty() || !ours_.downgrading().empty() || ours_.lingering() != nullptr;
    // Past the limit also for the sake of those to come, who do not know yet and would get a number that is refused.
    if (own_nodes || (ours_.wanted().empty() && next_number_ <= sequence_limit))
        return;
    if (emptying_ == emptying::occupied) {
        send_away(action::kind::refused);
        if (ours_.wanted().empty() || wait_for_youngest(actions))
            return;
    }
    if (emptying_ == emptying::unasked) {
        emptying_ = emptying::asked;
        asked_for_ = ours_.wanted().empty() ? 0 : ours_.wanted().last().id;
        actions.push_back({action::kind::remove_parent, 0, {}});
    }
}

/// False when there is nothing to wait for.
bool lock_queue::wait_for_youngest(std::vector<action>& actions)
{
    if (answered_stamp_ < occupied_stamp_) {
        if (last_read_stamp_ < occupied_stamp_)
            read(actions, action::kind::read_children, false);
        return true;
    }
    const bool none_awaited = awaited_.empty();
    if (none_awaited && strangers_) {
        emptying_ = emptying::impossible; // they may stay for ever
        return false;
    }
    const view& there = view_.empty() ? let_go_ : view_;
    if (none_awaited && !there.empty()) {
        if (next_number_ >= sequence_limit) { // those who are there do not heed the end, or it would not have come
            send_away(action::kind::exhausted);
            emptying_ = emptying::unasked;
            return true;
        }
        awaited_ = there.rbegin()->first.node;
    }
    const place_name awaited{names_.sequence_of(awaited_).value_or(0), awaited_};
    const bool waits = !awaited_.empty() && (view_.contains(awaited) || let_go_.contains(awaited));
    if (waits && lasting_.contains(awaited_)) {
        emptying_ = emptying::impossible; // its name is a contender's, but no session takes it along
        return false;
    }
    if (waits) {
        watched_others_.insert(awaited_);
        arm(actions, awaited_);
        return true;
    }
    awaited_.clear();
    emptying_ = emptying::unasked;
    return false;
}

/// Ends the wait of contenders that are held back and cannot wait: of those that look once, or, when there is no number
/// left, of all that came up to `up_to`.
void lock_queue::send_away(action::kind how, contender_id up_to)
{
    for (auto next = ours_.wanted().begin(); next != ours_.wanted().end();) {
        contender& c = *next++;
        if ((how == action::kind::refused && !c.look_once) || c.id > up_to)
            continue;
        news_.push_back({how, c.id, {}});
        forget(c, action::kind::gone);
    }
}

bool lock_queue::may_remove_parent(std::int32_t ever)
{
    note_ever(ever);
    if (!scarce())
        emptying_ = emptying::unasked; // it is another one
    return scarce();
}

void lock_queue::parent_occupied()
{
    emptying_ = emptying::occupied;
    occupied_stamp_ = ++stamp_;
    awaited_.clear();
}

void lock_queue::parent_stays()
{
    emptying_ = emptying::impossible;
}

void lock_queue::remove_parent_unknown()
{
    emptying_ = emptying::unasked;
}

} // namespace zklock::queue
