#include "queue/parent_emptying.hpp"

#include "queue/node_name.hpp"

namespace zklock::queue {

/// It does not so while a node of ours is there: that says that the parent is not empty, and its end will be known.
void parent_emptying::go_on(known_queue& known, std::vector<action>& actions)
{
    const own_contenders& own = known.own();
    const std::int64_t next_number = known.parent().next_number();
    if (now_ == state::impossible) {
        if (next_number < sequence_limit)
            return; // creates go on
        send_away(known, action::kind::exhausted, asked_for_);
        if (!own.wanted().empty())
            now_ = state::unasked; // for those who have come since: it may be possible by now
    }
    if (own.with_node() != 0)
        send_away(known, action::kind::refused);
    const bool own_nodes = own.with_node() != 0 || !known.places().left().empty() || !own.creating().empty() ||
                           !own.unknown().empty() || !own.downgrading().empty() || own.lingering() != nullptr;
    // Past the limit also for the sake of those to come, who do not know yet and would get a number that is refused.
    if (own_nodes || (own.wanted().empty() && next_number <= sequence_limit))
        return;
    if (now_ == state::occupied) {
        send_away(known, action::kind::refused);
        if (own.wanted().empty() || wait_for_youngest(known, actions))
            return;
    }
    if (now_ == state::unasked) {
        now_ = state::asked;
        asked_for_ = own.wanted().empty() ? 0 : own.wanted().last().id;
        actions.push_back({action::kind::remove_parent, 0, {}});
    }
}

/// False when there is nothing to wait for.
bool parent_emptying::wait_for_youngest(known_queue& known, std::vector<action>& actions)
{
    if (known.reads().answered() < occupied_stamp_) {
        if (known.reads().sent() < occupied_stamp_)
            known.reads().send(actions, action::kind::read_children, false);
        return true;
    }
    const bool none_awaited = awaited_.empty();
    if (none_awaited && known.strangers()) {
        now_ = state::impossible; // they may stay for ever
        return false;
    }
    const view& live = known.places().live();
    const view& let_go = known.places().let_go();
    const view& there = live.empty() ? let_go : live;
    if (none_awaited && !there.empty()) {
        // Those who are there do not heed the end, or it would not have come.
        if (known.parent().next_number() >= sequence_limit) {
            send_away(known, action::kind::exhausted);
            now_ = state::unasked;
            return true;
        }
        awaited_ = there.rbegin()->first.node;
    }
    const place_name awaited = known.places().name_of(awaited_);
    const bool waits = !awaited_.empty() && (live.contains(awaited) || let_go.contains(awaited));
    if (waits && known.watches().is_lasting(awaited_)) {
        now_ = state::impossible; // its name is a contender's, but no session takes it along
        return false;
    }
    if (waits) {
        known.watches().arm_for_another(actions, awaited_);
        return true;
    }
    awaited_.clear();
    now_ = state::unasked;
    return false;
}

/// Ends the wait of contenders that are held back and cannot wait: of those that look once, or, when there is no number
/// left, of all that came up to `up_to`.
void parent_emptying::send_away(known_queue& known, action::kind how, contender_id up_to)
{
    auto& wanted = known.own().wanted();
    for (auto next = wanted.begin(); next != wanted.end();) {
        contender& c = *next++;
        if ((how == action::kind::refused && !c.look_once) || c.id > up_to)
            continue;
        known.news().push_back({how, c.id, {}});
        known.forget(c, action::kind::gone);
    }
}

bool parent_emptying::may_remove(parent_node& parent, std::int32_t ever)
{
    parent.note_ever(ever);
    if (!parent.scarce())
        now_ = state::unasked; // it is another one
    return parent.scarce();
}

void parent_emptying::occupied(std::uint64_t stamp)
{
    now_ = state::occupied;
    occupied_stamp_ = stamp;
    awaited_.clear();
}

void parent_emptying::begin_anew() noexcept
{
    now_ = state::unasked;
    awaited_.clear();
}

} // namespace zklock::queue
