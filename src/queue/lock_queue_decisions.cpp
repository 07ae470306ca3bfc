// What to do next: the second half of lock_queue.
#include "queue/lock_queue.hpp"

#include "queue/mutants.hpp"
#include "queue/node_name.hpp"

#include <iterator>
#include <utility>

namespace zklock::queue {

std::vector<action> lock_queue::next(bool lease_fresh)
{
    std::vector<action> actions;
    const bool looking_up = std::any_of(reads_.begin(), reads_.end(), [](const sent_read& r) { return r.looks_up; });
    if (connected_ && !unknown_.empty() && !looking_up && !look_up_refused_)
        read(actions, true);
    if (connected_) {
        for (contender_id id : std::exchange(to_inspect_, {})) {
            const auto c = contenders_.find(id);
            if (c == contenders_.end() || c->second.now != phase::inspecting)
                continue;
            watches_.emplace(node_of(c->second), watch_state::arming);
            actions.push_back({action::kind::inspect, id, node_of(c->second)});
        }
    }
    while (decide_first(actions, lease_fresh)) {
    }
    if (looking_once_ != 0)
        refuse_those_behind();
    if (connected_) {
        for (contender_id id : std::exchange(to_remove_, {})) {
            const auto c = contenders_.find(id);
            if (c == contenders_.end() || std::exchange(c->second.removing, true))
                continue;
            const bool wrong = ZKLOCK_MUTANT(deletes_the_lowest_node) && !view_.empty();
            actions.push_back({action::kind::remove, id, wrong ? view_.begin()->first.node : node_of(c->second)});
        }
    }
    if (connected_) {
        for (contender_id id : held_)
            if (at(id).holds_on)
                arm(actions, node_of(at(id)));
        disarm_unneeded(actions);
    }
    std::move(news_.begin(), news_.end(), std::back_inserter(actions));
    news_.clear();
    return actions;
}

bool lock_queue::busy(const std::vector<std::string>& names) const
{
    for (const std::string& name : names) {
        const auto sequence = sequence_of(name);
        if (!sequence)
            continue;
        if (!left_.contains({*sequence, name}))
            return true;
    }
    return false;
}

/// Only the first of those that wait has to know who is before it: the others wait for the first.
/// True when that made another one the first.
bool lock_queue::decide_first(std::vector<action>& actions, bool lease_fresh)
{
    if (queued_.empty()) {
        if (connected_ && !creating_.empty() && last_read_turn_ < creating_.begin()->first)
            read(actions, false);
        return false;
    }
    const contender_id id = (ZKLOCK_MUTANT(youngest_waiter_first) ? *queued_.rbegin() : *queued_.begin()).second;
    contender& c = at(id);
    if (!c.covered && !ZKLOCK_MUTANT(grant_without_a_view)) {
        if (connected_ && last_read_turn_ < c.create_turn)
            read(actions, false);
        return false;
    }
    const auto predecessor = nearest_below(c);
    if (predecessor != view_.end()) {
        if (predecessor->second != 0)
            return false; // one of ours: we shall know
        if (c.look_once) {
            if (ZKLOCK_MUTANT(refused_look_keeps_its_node)) {
                c.spot->second = 0;
                news_.push_back({action::kind::refused, id, {}});
                return forget(id, action::kind::gone), true;
            }
            start_leaving(id, c);
            news_.push_back({action::kind::refused, id, {}});
            return true;
        }
        c.waited_for_another = true;
        if (!connected_)
            return false;
        if (!ZKLOCK_MUTANT(own_node_not_watched))
            arm(actions, node_of(c));
        if (answered_turn_ >= doubt_turn_) {
            const auto which = ZKLOCK_MUTANT(watch_on_the_next_higher_node) ? c.spot : predecessor;
            arm(actions, which->first.node);
            watched_others_.insert(which->first.node);
        } else if (last_read_turn_ < doubt_turn_) {
            read(actions, false);
        }
        return false;
    }
    if (c.waited_for_another && !ZKLOCK_MUTANT(own_node_not_watched)) {
        const auto own = watches_.find(node_of(c));
        if (own == watches_.end() || own->second != watch_state::armed) {
            if (connected_)
                arm(actions, node_of(c));
            return false;
        }
    }
    if (!lease_fresh && !ZKLOCK_MUTANT(grant_without_a_fresh_lease))
        return false;
    move(id, c, phase::held);
    news_.push_back({action::kind::granted, id, {}});
    return true;
}

void lock_queue::refuse_those_behind()
{
    std::vector<contender_id> behind;
    for (auto waiting = queued_.begin(); waiting != queued_.end(); ++waiting)
        if (at(waiting->second).look_once && (waiting != queued_.begin() || !held_.empty()))
            behind.push_back(waiting->second);
    for (contender_id id : behind) {
        start_leaving(id, at(id));
        news_.push_back({action::kind::refused, id, {}});
    }
}

/// The nearest node before the contender.
lock_queue::view::iterator lock_queue::nearest_below(const contender& c)
{
    auto below = c.spot;
    while (below != view_.begin()) {
        --below;
        if (below->second == 0 || !ZKLOCK_MUTANT(own_nodes_do_not_count))
            return below;
    }
    return view_.end();
}

void lock_queue::read(std::vector<action>& actions, bool looks_up)
{
    last_read_turn_ = ++turn_;
    reads_.push_back({last_read_turn_, looks_up});
    if (looks_up && !ZKLOCK_MUTANT(look_up_without_sync))
        actions.push_back({action::kind::synchronize, 0, {}});
    actions.push_back({action::kind::read_children, 0, {}});
}

void lock_queue::arm(std::vector<action>& actions, const std::string& node)
{
    if (watches_.emplace(node, watch_state::arming).second)
        actions.push_back({action::kind::watch, 0, node});
}

/// A node of ours takes its watches with it; those of others would stay on the server after us.
void lock_queue::disarm_unneeded(std::vector<action>& actions)
{
    if (watched_others_.empty() || ZKLOCK_MUTANT(watch_left_on_the_server))
        return;
    std::string needed;
    if (contending_ > held_.size()) {
        if (queued_.empty() || !at(queued_.begin()->second).covered)
            return; // not known yet
        const auto predecessor = nearest_below(at(queued_.begin()->second));
        if (predecessor != view_.end())
            needed = predecessor->first.node;
    }
    std::erase_if(watched_others_, [this](const std::string& node) { return !watches_.contains(node); });
    for (const std::string& node : watched_others_) {
        watch_state& state = watches_.at(node);
        if (state != watch_state::armed || node == needed)
            continue;
        const auto watched_node = view_.find({sequence_of(node).value_or(0), node});
        if (watched_node != view_.end() && watched_node->second == 0) {
            state = watch_state::disarming;
            actions.push_back({action::kind::unwatch, 0, node});
        }
    }
}

} // namespace zklock::queue
