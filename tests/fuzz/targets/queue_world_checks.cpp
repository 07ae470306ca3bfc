// What is demanded of the queue's decisions: the fourth part of queue_world.
#include "queue_world.hpp"

namespace zklock::fuzz {

void queue_world::check_remove(const queue::action& a) const
{
    require(connected_ && in_contact_, "deletes are wanted on a connection");
    require(callers_.contains(a.id) && callers_.at(a.id).left, "only the node of one who has left is deleted");
    const std::string& node = queue_.own().node(a.id);
    require(callers_.at(a.id).nodes.contains(node) || lists_lie_, "nobody's node is deleted but one's own");
    if (!a.may_wait || !was_quiet_ || !touched_.empty() || !tree_.children.contains(node))
        return;
    const std::int32_t own = tree_.children.at(node).sequence;
    if (own < 0) // after the largest number: who is behind it, numbers do not tell
        return;
    for (const auto& [name, n] : tree_.children)
        if (n.creator == 0 && n.sequence > own && !n.out_of_turn && queue::name_rules().sequence_of(name) &&
            !is_let_go(name, n) && exclude(kind_of(name), kind_of(node)))
            require(ours_before(own, name, n), "nobody else is next when a delete may wait");
}

/// Whether another node has to wait for one of ours that has not left and is above a number.
bool queue_world::ours_before(std::int32_t low, const std::string& other, const node& at) const
{
    return std::any_of(tree_.children.begin(), tree_.children.end(), [&](const auto& child) {
        const node& n = child.second;
        const auto whose = callers_.find(n.creator);
        return n.sequence > low && n.sequence < at.sequence && whose != callers_.end() && !whose->second.left &&
               exclude(kind_of(child.first), kind_of(other));
    });
}

/// Whether somebody who has not left, or let go, and excludes it, stands before a node.
bool queue_world::somebody_before(const std::string& name, const node& at) const
{
    return std::any_of(tree_.children.begin(), tree_.children.end(), [&](const auto& child) {
        const auto& [other, n] = child;
        if (n.sequence >= at.sequence || n.out_of_turn || !queue::name_rules().sequence_of(other) ||
            is_let_go(other, n) || !exclude(kind_of(other), kind_of(name)))
            return false;
        const auto whose = callers_.find(n.creator);
        return n.creator == 0 || whose == callers_.end() || !whose->second.left;
    });
}

/// When nothing is under way any more. (Whose node others have deleted may not have looked yet, and be waited for.)
void queue_world::check_all_is_given() const
{
    for (const auto& [name, n] : tree_.children) {
        const auto whose = callers_.find(n.creator);
        const bool waits = whose != callers_.end() && !whose->second.left && !whose->second.held;
        require(!waits || !touched_.empty() || somebody_before(name, n), "who can hold the lock does");
    }
    for (const auto& [whose, c] : callers_)
        require(!c.downgrading || c.left, "who wanted to read on does");
}

queue_world::queue_kind queue_world::kind_of(const std::string& name)
{
    const auto parsed = queue::name_rules().parse(name);
    return parsed ? parsed->kind : queue_kind::mutex;
}

void queue_world::refused(id whose)
{
    trace("    =>", "refused", whose);
    require(callers_.contains(whose), "who is refused is known");
    caller& c = callers_.at(whose);
    require(c.look_once && !c.left && !c.held, "only who looks once and waits can be refused");
    c.left = true;
}

void queue_world::exhausted(id whose)
{
    trace("    =>", "there is no number for", whose);
    require(callers_.contains(whose), "who gets no number is known");
    caller& c = callers_.at(whose);
    require(!c.left && !c.held, "who gets no number has waited");
    c.left = true;
}

void queue_world::shares(id whose, const std::string& node)
{
    trace("    =>", "reads on", whose, node);
    require(callers_.contains(whose), "who reads on is known");
    caller& c = callers_.at(whose);
    require(c.held && !c.left && c.downgrading && c.downgrade_sent, "only who asked for it reads on");
    require(kind_of(node) == queue_kind::reader && (c.nodes.contains(node) || lists_lie_), "with a reader's node");
    c.is = queue_kind::reader;
    c.downgrading = false;
}

void queue_world::granted(const queue::action& a)
{
    const id whose = a.id;
    const id from = a.from;
    trace("    =>", "granted", whose, "from", from);
    require(callers_.contains(whose), "the lock goes to one who asked");
    caller& c = callers_.at(whose);
    require(!c.left && !c.held && lease_renewable_, "the lock goes to one who waits, under a fresh lease");
    c.held = true;
    const std::string& own = queue_.own().node(whose);
    check_passes_over(a, own);
    if (from != 0) {
        require(callers_.contains(from) && callers_.at(from).left, "a node is passed on by one who has left");
        require(callers_.at(from).nodes.erase(own) == 1 || lists_lie_, "and it was that one's");
        c.nodes.insert(own);
        if (const auto passed = tree_.children.find(own); passed != tree_.children.end())
            passed->second.creator = whose;
        if (was_quiet_ && others_queue()) // the first may have come before the children were watched
            require(++passed_on_[own] <= allowed_.cohort, "others do not wait for more grants than were allowed");
    }
    if (lists_lie_)
        return;
    for (const auto& [other, o] : callers_) {
        if (other == whose || !o.held || o.left || !exclude(o.is, c.is))
            continue;
        const bool lives =
            std::any_of(o.nodes.begin(), o.nodes.end(), [&](const auto& n) { return tree_.children.contains(n); });
        require(!lives, "there is one holder, or readers");
    }
    const auto at = tree_.children.find(own);
    if (at == tree_.children.end()) // an outside delete that nobody could have heard of yet
        return require(touched_.contains(own), "a holder's node lives, unless others deleted it");
    require(!somebody_before(own, at->second), "nobody who came before still waits");
}

void queue_world::forgotten(id whose, bool was_held)
{
    trace("    =>", was_held ? "lost" : "gone", whose);
    const auto at = callers_.find(whose);
    require(at != callers_.end(), "each contender is forgotten once");
    const caller& c = at->second;
    require(was_held ? c.held && !c.left : c.left, "who held loses it, who left is gone");
    require(!queue_.own().knows(whose), "what is forgotten is not known");
    if (!lists_lie_)
        for (const std::string& name : c.nodes)
            require(!tree_.children.contains(name), "a contender that is forgotten leaves no node");
    callers_.erase(at);
}

} // namespace zklock::fuzz
