// What to do next: the third part of lock_queue.
#include "queue/lock_queue.hpp"

#include "queue/node_name.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace zklock::queue {

const std::vector<action>& lock_queue::next(bool lease_fresh)
{
    std::vector<action>& actions = actions_;
    actions.clear();
    const auto looks_up = [](const sent_read& r) { return r.looks_up; };
    if (connected_) {
        if (!ours_.unknown().empty() && !look_up_refused_ && std::none_of(reads_.begin(), reads_.end(), looks_up))
            read(actions, action::kind::read_children, true);
        for (contender_id id : to_inspect_) {
            const contender* const c = ours_.find_in(phase::inspecting, id);
            if (c == nullptr)
                continue;
            watches_.insert_or_assign(node_of(*c), watch_state::arming);
            actions.push_back({action::kind::inspect, id, node_of(*c)});
        }
        to_inspect_.clear();
    }
    if (ours_.lingering() != nullptr)
        decide_lingering(actions, lease_fresh);
    const auto anybody_waits = [this] { return !ours_.queued().empty() || !ours_.creating().empty(); };
    while (anybody_waits() && decide_first(actions, lease_fresh)) {
    }
    if (ours_.looking_once() != 0)
        refuse_those_behind();
    if (connected_ && scarce())
        empty_parent(actions);
    if (connected_) {
        if (!to_remove_.empty())
            remove_those_left(actions);
        for (contender& c : ours_.downgrading())
            if (std::exchange(c.into_reader, downgrade_state::sent) != downgrade_state::sent)
                actions.push_back({action::kind::downgrade, c.id, node_of(c)});
        if (std::exchange(look_after_holders_, false))
            for (const contender& c : ours_.held())
                if (c.holds_on)
                    arm(actions, node_of(c));
        if (!watched_others_.empty())
            disarm_unneeded(actions);
    }
    just_listed_ = false;
    if (actions.empty()) {
        actions.swap(news_);
    } else {
        std::move(news_.begin(), news_.end(), std::back_inserter(actions));
        news_.clear();
    }
    return actions;
}

bool lock_queue::busy(const std::vector<std::string>& names, contender_kind kind) const
{
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        const auto parsed = names_.parse(name);
        if (!parsed)
            return false;
        const place_name where{parsed->sequence, name};
        return excludes(parsed->kind, kind) && !left_.contains(where) && !let_go_.contains(where);
    });
}

/// Only the first of those that wait has to know who is before it: the others wait for the first. True when another one
/// is the first now.
bool lock_queue::decide_first(std::vector<action>& actions, bool lease_fresh)
{
    if (ours_.queued().empty()) {
        if (connected_ && creates_seek_coverage())
            seek_coverage(actions, ours_.creating().begin()->create_stamp);
        return false;
    }
    contender& c = ours_.first_queued();
    // What stands before it is to be known: all who were there when it came.
    if (!c.covered) {
        if (connected_)
            seek_coverage(actions, c.create_stamp);
        return false;
    }
    const auto predecessor = nearest_below(c.spot, c.kind);
    const bool anothers = predecessor != view_.end() && predecessor->second == 0;
    // Neither the end of the connection tells that another's node is gone, nor the end of a node behind it.
    if (predecessor == view_.end())
        return grant_first(actions, c, lease_fresh);
    if (!anothers)
        return false; // it is one of ours: we shall know
    return queue_behind(actions, c, predecessor);
}

/// The first that waits has to wait for a node of another client. True when it does not, because it looks once.
bool lock_queue::queue_behind(std::vector<action>& actions, contender& c, view::iterator predecessor)
{
    if (c.look_once) {
        start_leaving(c, true);
        news_.push_back({action::kind::refused, c.id, {}});
        news_.back().by_others = true;
        return true;
    }
    c.waited_for_another = true;
    if (!connected_)
        return false;
    arm(actions, node_of(c));
    wait_for(actions, predecessor, c.kind);
    return false;
}

/// It has waited, and others may have deleted its node meanwhile: it would not hear of that.
bool lock_queue::has_to_watch_own(const contender& c) const
{
    return c.waited_for_another && !watches_own(c);
}

/// Nothing that is known is in the way of the first that waits: true when it is granted, false when something has to be
/// made sure of before.
bool lock_queue::grant_first(std::vector<action>& actions, contender& c, bool lease_fresh)
{
    const bool before_known = !may_have_grown(c.kind) && !only_known_of_old(c);
    if (!before_known) {
        if (connected_ && last_read_stamp_ < std::max(growth_stamp_, carried_over_stamp_))
            read(actions, action::kind::read_children, false);
        return false;
    }
    if (!may_pass_over(actions, c))
        return false;
    const bool over_let_go = stands_over_let_go(c);
    if (has_to_watch_own(c)) {
        if (connected_)
            arm(actions, node_of(c));
        return false;
    }
    if (!c.token_known)
        return false;
    if (!lease_fresh)
        return false;
    move(c, phase::held);
    disturbed_ = false; // if its node is to stay, the others will be looked for
    news_.push_back({action::kind::granted, c.id, {}, false, 0, false, over_let_go, pass_over(c)});
    return true;
}

/// Asks for what covers a contender whose create has that stamp, unless that was asked for already. A contender that is
/// likely to be alone asks for the parent's own node only: the number of its children may tell.
void lock_queue::seek_coverage(std::vector<action>& actions, std::uint64_t stamp)
{
    if (parent_ == watch_state::off) {
        parent_ = watch_state::arming;
        actions.push_back({action::kind::watch_parent, 0, {}});
    }
    if (parent_ == watch_state::arming && !others_expected_)
        return;
    if (last_read_stamp_ < stamp)
        read(actions, action::kind::read_children, false);
}

/// Watches the node before the first that waits, and the one before that: when both are gone, nobody else is left, and
/// no read has to find that out. (Without this look-ahead, each hand-off would need a read.)
void lock_queue::wait_for(std::vector<action>& actions, view::iterator predecessor, contender_kind kind)
{
    const auto watch_foreign = [&](view::iterator node) {
        arm(actions, node->first.node);
        watched_others_.insert(node->first.node);
    };
    const bool in_doubt = answered_stamp_ < doubt_stamp_ && (doubt_stamp_ != growth_stamp_ || may_have_grown(kind));
    if (in_doubt && last_read_stamp_ < doubt_stamp_)
        read(actions, action::kind::read_children, false);
    if (!in_doubt || is_watched(predecessor->first.node))
        watch_foreign(predecessor);
    if (in_doubt)
        return;
    const auto before = nearest_below(predecessor, kind);
    if (before != view_.end() && before->second == 0)
        watch_foreign(before);
}

/// Whether a writer of another client has gone, of late, that may read on under its number.
bool lock_queue::may_have_grown(contender_kind kind) const noexcept
{
    return !is_shared(kind) && answered_stamp_ < growth_stamp_;
}

/// Whether nothing has been listed since its session went on over another connection, to servers that may have been set
/// back since.
bool lock_queue::only_known_of_old(const contender& c) const noexcept
{
    return answered_stamp_ < carried_over_stamp_ && c.create_stamp < carried_over_stamp_;
}

/// Whether the node of a holder that gives the lock back may serve another contender of this client.
bool lock_queue::may_stay(const contender& c) const
{
    // Some may be leaving.
    const bool others_of_ours = ours_.with_node() > 1 || !ours_.creating().empty() || !ours_.unknown().empty();
    if (!connected_ || others_of_ours || c.further_grants == 0)
        return false;
    if (c.revoked)
        return false;
    return (!ours_.wanted().empty() && c.cohort_left > 0) || undisturbed(c);
}

/// Whether a node may stay without counting on its cohort: nobody else is known to be behind it.
bool lock_queue::undisturbed(const contender& c) const
{
    if (!allowed_.linger)
        return allowed_.linger;
    if (scarce())
        return false; // those who are held back would not be seen to queue
    const auto of_another = [](const auto& known) { return known.second == 0; };
    return !disturbed_ && std::none_of(view::const_iterator(c.spot), view_.cend(), of_another);
}

/// The node of a holder that gave the lock back is passed on, left to linger, or not needed any more.
void lock_queue::decide_lingering(std::vector<action>& actions, bool lease_fresh)
{
    contender& c = *ours_.lingering();
    const bool alone = undisturbed(c);
    // The children are watched even if the node is passed on at once: its cohort is not counted then, and those who
    // queue have to be noticed.
    if (alone && connected_ && children_ == watch_state::off) {
        children_ = watch_state::arming;
        read(actions, action::kind::watch_children, false);
    }
    if (!ours_.wanted().empty() && (alone || c.cohort_left > 0)) {
        if (!lease_fresh)
            return;
        if (!may_pass_over(actions, c))
            return;
        const bool over_let_go = stands_over_let_go(c);
        contender& next = *ours_.wanted().begin();
        next.spot = c.spot;
        next.spot->second = next.id;
        next.create_stamp = c.create_stamp;
        next.covered = next.token_known = true;
        next.further_grants = c.further_grants - 1;
        const bool counts = !alone;
        next.cohort_left = std::min(c.cohort_left - (counts ? 1 : 0), next.further_grants);
        move(next, phase::held);
        news_.push_back({action::kind::granted, next.id, {}, false, c.id, false, over_let_go, pass_over(next)});
        forget(c, action::kind::gone);
        return;
    }
    if (!alone || !connected_)
        return start_leaving(c, true);
    if (!std::exchange(c.lingering_told, true))
        news_.push_back({action::kind::lingers, c.id, {}});
}

/// Refuses whoever looks once, behind one of ours, and cannot hold the lock together with somebody before it.
void lock_queue::refuse_those_behind()
{
    std::vector<contender*> behind;
    bool after_any = !ours_.held().empty() || !ours_.downgrading().empty();
    bool after_one_alone =
        !ours_.downgrading().empty() || (!ours_.held().empty() && !is_shared(ours_.held().begin()->kind));
    if (!ours_.queued().empty()) { // if the first is a reader that waits, it is for a writer, and so do all behind it
        const contender& first = ours_.first_queued();
        after_one_alone = after_one_alone || (is_shared(first.kind) && first.covered &&
                                              nearest_below(first.spot, first.kind) != view_.end());
    }
    for (contender& c : ours_.queued()) {
        if (c.look_once && (is_shared(c.kind) ? after_one_alone : after_any))
            behind.push_back(&c);
        after_any = true;
        after_one_alone = after_one_alone || !is_shared(c.kind);
    }
    for (contender* c : behind) {
        const bool by_others = before(c->id, 0).excluded;
        start_leaving(*c, true);
        news_.push_back({action::kind::refused, c->id, {}});
        news_.back().by_others = by_others;
    }
}

void lock_queue::remove_those_left(std::vector<action>& actions)
{
    for (contender_id id : to_remove_) {
        contender* const found = ours_.find(id);
        if (found == nullptr || std::exchange(found->removing, true))
            continue;
        const contender& c = *found;
        actions.push_back({action::kind::remove, id, {}, only_ours_wait_for(c.spot->first), 0, c.left_by_own_will});
    }
    to_remove_.clear();
}

/// Whether the next node above is one of ours, and nothing unknown can be between. Several may wait for a node that
/// excludes readers: all readers up to the next such node.
bool lock_queue::only_ours_wait_for(const place& left) const
{
    for (auto above = view_.upper_bound(left); above != view_.end(); ++above) {
        if (above->second == 0 || !ours_.at(above->second).covered)
            return false;
        if (is_shared(left.kind) || !is_shared(above->first.kind))
            return true;
    }
    return false;
}

bool lock_queue::is_watched(std::string_view node) const
{
    const auto watch = watches_.find(node);
    return watch != watches_.end() && watch->second != watch_state::disarming;
}

/// The nearest node before that one that excludes a contender of that kind. Where a node of another client was let go,
/// ours still count, and so do those below it.
view::iterator lock_queue::nearest_below(view::iterator node, contender_kind kind)
{
    while (node != view_.begin()) {
        --node;
        const bool ours = node->second != 0;
        if (excludes(node->first.kind, kind))
            return node;
        if (ours && ours_.at(node->second).now == phase::held)
            break; // this reader of ours holds: so no writer is before it
    }
    return view_.end();
}

void lock_queue::read(std::vector<action>& actions, action::kind how, bool looks_up)
{
    last_read_stamp_ = ++stamp_;
    reads_.push_back({last_read_stamp_, looks_up, how == action::kind::watch_children});
    if (looks_up)
        actions.push_back({action::kind::synchronize, 0, {}});
    actions.push_back({how, 0, {}});
}

void lock_queue::arm(std::vector<action>& actions, const std::string& node)
{
    if (watches_.try_emplace(node, watch_state::arming).second)
        actions.push_back({action::kind::watch, 0, node});
}

/// A node of ours takes its watches with it; watches on nodes of others would stay on the server after us.
void lock_queue::disarm_unneeded(std::vector<action>& actions)
{
    auto predecessor = view_.end();
    auto before = view_.end();
    const bool held_back = ours_.queued().empty() && !awaited_.empty();
    if (ours_.contending() > ours_.held().size() && !held_back) {
        if (ours_.queued().empty() || !ours_.first_queued().covered)
            return; // not known yet
        const contender& first = ours_.first_queued();
        predecessor = nearest_below(first.spot, first.kind);
        if (predecessor != view_.end())
            before = nearest_below(predecessor, first.kind);
    }
    const auto needed = [&](const std::string& node) {
        return (!ours_.wanted().empty() && node == awaited_) ||
               (predecessor != view_.end() && node == predecessor->first.node) ||
               (before != view_.end() && node == before->first.node);
    };
    std::erase_if(watched_others_, [this](const std::string& node) { return !watches_.contains(node); });
    for (const std::string& node : watched_others_) {
        watch_state& state = watches_.at(node);
        if (state != watch_state::armed || needed(node))
            continue;
        const auto watched_node = view_.find(place_name{names_.sequence_of(node).value_or(0), node});
        if (watched_node != view_.end() && watched_node->second == 0) {
            state = watch_state::disarming;
            actions.push_back({action::kind::unwatch, 0, node});
        }
    }
}

} // namespace zklock::queue
