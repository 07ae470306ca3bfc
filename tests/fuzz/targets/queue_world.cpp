#include "queue_world.hpp"

#include "queue/node_name.hpp"

#include <algorithm>
#include <utility>

namespace zklock::fuzz {

namespace {

constexpr std::size_t most_callers = 12;

/// Where a parent's counter may stand: at its beginning, or where zklock has to refuse.
constexpr std::uint32_t counters[] = {0, 7, static_cast<std::uint32_t>(queue::sequence_limit) - 3, 0x7fff'fffd};

constexpr unsigned cohorts[] = {1, 1, 2, 4};

} // namespace

queue_world::queue_world(input& in)
    : in_(in), lists_lie_(in.below(4) == 3), lying_(lists_lie_), gathers_(in.below(2) == 1),
      allowed_{in.below(2) == 1, cohorts[in.below(4)]}, queue_(allowed_)
{
    tree_.ever = counters[in.below(4)];
    known_ = tree_;
}

void queue_world::step()
{
    switch (in_.below(28)) {
    case 0:
    case 1:
    case 2: join(); break;
    case 3: leave(false); break;
    case 4: leave(true); break;
    case 5: hold_on(); break;
    case 6: lapse(); break;
    case 7: lease_fresh_ = connected_; break;
    case 8: may_create_ = !may_create_; break;
    case 9:
    case 10:
    case 11:
    case 12: execute(); break;
    case 13:
    case 14:
    case 15:
    case 16: deliver(); break;
    case 17: add_foreign(); break;
    case 18: delete_some_node(); break;
    case 19: change_some_node(); break;
    case 20: catch_up(); break;
    case 21: connect(); break;
    case 22: disconnect(); break;
    case 23:
        if (!connected_)
            expire();
        else if (in_.below(3) == 0)
            delete_parent();
        break;
    case 24:
    case 25:
        if (send_writes())
            decide();
        break;
    case 26: set_parent(); break;
    case 27: queue_.stop_lingering(); break;
    }
    advance();
}

void queue_world::settle()
{
    trace("--- all becomes well");
    may_create_ = true;
    if (std::exchange(lying_, false)) { // what it made a contender give up, it keeps until the session ends
        disconnect();
        expire();
        advance();
    }
    connect();
    catch_up();
    for (const auto& [name, n] : nodes(tree_.children))
        if (n.creator == 0)
            forget_node(name);
    for (int patience = 2000; !callers_.empty(); --patience) {
        require(patience != 0, "once all is well, everybody gets the lock in turn");
        connect();
        lease_fresh_ = true;
        advance();
        if (send_writes())
            decide();
        for (int round_trips = 0; !sent_.empty() || !arriving_.empty(); ++round_trips) {
            require(round_trips != 2000, "the requests come to an end");
            execute();
            deliver();
            advance();
            if (send_writes())
                decide();
        }
        if (pick(true) != 0) {
            leave(true);
            advance();
        } else if (queue_.lingering()) {
            queue_.stop_lingering();
            advance();
        }
    }
    while (!sent_.empty() || !arriving_.empty()) {
        execute();
        deliver();
        advance();
    }
    require(queue_.idle() && !queue_.contended() && !queue_.has_node(), "when all have left, nothing is left to do");
    require(watched_.empty(), "no watch is left on the server");
    require(lists_lie_ || !queue_.watches_parent() || parent_watched_ || children_watched_,
            "a watch on the parent that is relied on is there");
    require(tree_.children.empty(), "no node is left on the server");
}

// --- callers ---------------------------------------------------------------------------------------------------------

void queue_world::join()
{
    if (callers_.size() == most_callers)
        return;
    const id whose = ++last_id_;
    const bool look_once = in_.below(4) == 0;
    callers_[whose].look_once = look_once;
    trace("join", whose, look_once ? "looks once" : "");
    queue_.join(whose, look_once);
}

queue_world::id queue_world::pick(bool held)
{
    std::vector<id> some;
    for (const auto& [whose, c] : callers_)
        if (!c.left && c.held == held)
            some.push_back(whose);
    return some.empty() ? 0 : some[in_.below(some.size())];
}

void queue_world::leave(bool held)
{
    const id whose = pick(held);
    if (whose == 0)
        return;
    trace("leave", whose);
    callers_.at(whose).left = true;
    queue_.leave(whose);
}

void queue_world::hold_on()
{
    if (const id whose = pick(true))
        queue_.hold_on(whose);
}

void queue_world::lapse()
{
    trace("the lease ends");
    lease_fresh_ = false;
    std::set<id> holders;
    for (const auto& [whose, c] : callers_)
        if (c.held && !c.left)
            holders.insert(whose);
    const auto lapsed = queue_.lapse();
    require(std::set<id>(lapsed.begin(), lapsed.end()) == holders && lapsed.size() == holders.size(),
            "the lease's end takes the lock from every holder, and from nobody else");
    for (const id whose : lapsed)
        callers_.at(whose).left = true;
}

// --- the queue's decisions -------------------------------------------------------------------------------------------

void queue_world::advance()
{
    decide();
    while (!gathers_ && send_writes())
        decide();
    const bool should_know = was_quiet_ && quiet() && lease_fresh_;
    if (should_know && others_queue())
        require(!queue_.lingering(), "no node lingers before others who queue");
}

bool queue_world::quiet() const
{
    return in_contact_ && sent_.empty() && arriving_.empty() && !lagging_ && !lists_lie_;
}

bool queue_world::others_queue() const
{
    return std::any_of(tree_.children.begin(), tree_.children.end(), [](const auto& child) {
        return child.second.creator == 0 && queue::sequence_of(child.first).has_value();
    });
}

void queue_world::decide()
{
    was_quiet_ = quiet();
    const auto actions = queue_.next(lease_fresh_);
    for (const queue::action& a : actions) // requests come first, those of the refused too
        if (a.what == kind::refused)
            refused(a.id);
    for (const queue::action& a : actions)
        perform(a);
}

bool queue_world::send_writes()
{
    if (!in_contact_)
        return false;
    std::vector<write> writes;
    for (const id whose : std::exchange(removes_, {}))
        if (queue_.knows(whose))
            writes.push_back({false, whose, queue_.node_to_remove(whose)});
    while (may_create_) {
        const id whose = queue_.next_to_create();
        if (whose == 0)
            break;
        require(callers_.contains(whose), "a node is made for somebody who asked");
        std::string prefix = "_c_" + std::to_string(++creates_) + "-lock-";
        queue_.create_sent(whose, prefix);
        writes.push_back({true, whose, std::move(prefix)});
    }
    if (writes.empty())
        return false;
    if (gathers_)
        send(operation::write, 0, {}, std::move(writes));
    else
        for (write& w : writes)
            send(operation::write, 0, {}, {std::move(w)});
    return true;
}

void queue_world::perform(const queue::action& a)
{
    switch (a.what) {
    case kind::synchronize: return send(operation::synchronize);
    case kind::watch_parent: return send(operation::watch_parent);
    case kind::read_children: return send(operation::read);
    case kind::watch_children: return send(operation::watch_children);
    case kind::inspect: return send(operation::inspect, a.id, a.node);
    case kind::watch: return send(operation::watch, 0, a.node);
    case kind::unwatch: return send(operation::unwatch, 0, a.node);
    case kind::remove:
        require(connected_ && in_contact_, "deletes are wanted on a connection");
        require(callers_.contains(a.id) && callers_.at(a.id).left, "only the node of one who has left is deleted");
        require(callers_.at(a.id).nodes.contains(a.node) || lists_lie_, "nobody's node is deleted but one's own");
        if (a.may_wait && was_quiet_ && touched_.empty() && tree_.children.contains(a.node)) {
            const std::int32_t own = tree_.children.at(a.node).sequence;
            for (const auto& [name, n] : tree_.children)
                if (n.creator == 0 && n.sequence > own && !n.out_of_turn && queue::sequence_of(name))
                    require(ours_between(own, n.sequence), "nobody else is next when a delete may wait");
        }
        removes_.push_back(a.id);
        return;
    case kind::granted: return granted(a.id, a.from);
    case kind::refused: return;
    case kind::lingers:
        trace("    =>", "lingers", a.id);
        require(allowed_.linger && callers_.at(a.id).left, "who lingers has left");
        return;
    case kind::lost: return forgotten(a.id, true);
    case kind::gone: return forgotten(a.id, false);
    }
}

/// Whether one of ours that has not left stands between two numbers.
bool queue_world::ours_between(std::int32_t low, std::int32_t high) const
{
    return std::any_of(tree_.children.begin(), tree_.children.end(), [&](const auto& child) {
        const node& n = child.second;
        const auto whose = callers_.find(n.creator);
        return n.sequence > low && n.sequence < high && whose != callers_.end() && !whose->second.left;
    });
}

void queue_world::refused(id whose)
{
    trace("    =>", "refused", whose);
    require(callers_.contains(whose), "who is refused is known");
    caller& c = callers_.at(whose);
    require(c.look_once && !c.left && !c.held, "only who looks once and waits can be refused");
    c.left = true;
}

void queue_world::granted(id whose, id from)
{
    trace("    =>", "granted", whose, "from", from);
    require(callers_.contains(whose), "the lock goes to one who asked");
    caller& c = callers_.at(whose);
    require(!c.left && !c.held && lease_fresh_, "the lock goes to one who waits, under a fresh lease");
    c.held = true;
    const std::string& own = queue_.node(whose);
    if (from != 0) {
        require(callers_.contains(from) && callers_.at(from).left, "a node is passed on by one who has left");
        require(callers_.at(from).nodes.erase(own) == 1 || lists_lie_, "and it was that one's");
        c.nodes.insert(own);
        if (const auto passed = tree_.children.find(own); passed != tree_.children.end())
            passed->second.creator = whose;
        if (was_quiet_ && others_queue()) // the first may have come before the children were watched
            require(++passed_on_[own] <= allowed_.turns, "others do not wait for more turns than were allowed");
    }
    if (lists_lie_)
        return;
    for (const auto& [other, o] : callers_) {
        if (other == whose || !o.held || o.left)
            continue;
        const bool lives =
            std::any_of(o.nodes.begin(), o.nodes.end(), [&](const auto& n) { return tree_.children.contains(n); });
        require(!lives, "there is one holder");
    }
    const auto at = tree_.children.find(own);
    if (at == tree_.children.end()) // an outside delete that nobody could have heard of yet
        return require(touched_.contains(own), "a holder's node lives, unless others deleted it");
    for (const auto& [name, n] : tree_.children) {
        if (n.sequence >= at->second.sequence || n.out_of_turn || !queue::sequence_of(name))
            continue;
        const auto before = callers_.find(n.creator);
        require(n.creator != 0 && before != callers_.end() && before->second.left,
                "nobody who came before still waits");
    }
}

void queue_world::forgotten(id whose, bool was_held)
{
    trace("    =>", was_held ? "lost" : "gone", whose);
    const auto at = callers_.find(whose);
    require(at != callers_.end(), "each contender is forgotten once");
    const caller& c = at->second;
    require(was_held ? c.held && !c.left : c.left, "who held loses it, who left is gone");
    require(!queue_.knows(whose), "what is forgotten is not known");
    if (!lists_lie_)
        for (const std::string& name : c.nodes)
            require(!tree_.children.contains(name), "a contender that is forgotten leaves no node");
    callers_.erase(at);
}

} // namespace zklock::fuzz
