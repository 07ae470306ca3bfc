#include "queue_world.hpp"

#include "queue/node_name.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace zklock::fuzz {

namespace {

constexpr std::size_t most_callers = 12;
constexpr std::size_t most_nodes = 40;

/// Where a parent's counter may stand: at its beginning, or where zklock has to refuse.
constexpr std::uint32_t counters[] = {0, 7, static_cast<std::uint32_t>(queue::sequence_limit) - 3, 0x7fff'fffd};

constexpr const char* names[] = {"create", "sync", "read", "inspect", "watch", "unwatch", "remove"};

} // namespace

queue_world::queue_world(input& in)
    : in_(in), lists_lie_(in.below(4) == 3), lying_(lists_lie_), counter_(counters[in.below(4)])
{
}

void queue_world::step()
{
    switch (in_.below(24)) {
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
    for (const auto& [name, n] : nodes(nodes_))
        if (n.creator == 0)
            forget_node(name);
    for (int patience = 2000; !callers_.empty(); --patience) {
        require(patience != 0, "once all is well, everybody gets the lock in turn");
        connect();
        lease_fresh_ = true;
        advance();
        for (int round_trips = 0; !sent_.empty() || !arriving_.empty(); ++round_trips) {
            require(round_trips != 2000, "the requests come to an end");
            execute();
            deliver();
            advance();
        }
        if (pick(true) != 0) {
            leave(true);
            advance();
        }
    }
    require(queue_.idle() && !queue_.contended() && !queue_.has_node(), "when all have left, nothing is left to do");
    require(watched_.empty(), "no watch is left on the server");
    require(nodes_.empty(), "no node is left on the server");
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

// --- the server, and others ------------------------------------------------------------------------------------------

std::string queue_world::next_number()
{
    char digits[16];
    std::snprintf(digits, sizeof digits, "%010d", static_cast<std::int32_t>(counter_++));
    return digits;
}

void queue_world::execute()
{
    if (sent_.empty())
        return;
    request r = std::move(sent_.front());
    sent_.pop_front();
    trace("  the server executes", names[static_cast<int>(r.what)], r.whose, r.node);
    arrival a;
    const auto exists = [&](const nodes& here) { return here.contains(r.node); };
    switch (r.what) {
    case operation::create:
        catch_up(); // a write's answer comes after all that went before it
        if (!parent_exists_ || nodes_.size() == most_nodes) {
            a.result = outcome::failed;
            break;
        }
        {
            const auto sequence = static_cast<std::int32_t>(counter_);
            a.node = r.node + next_number();
            nodes_[a.node] = {sequence, r.whose, false};
        }
        callers_.at(r.whose).nodes.insert(a.node);
        break;
    case operation::remove:
        catch_up();
        a.result = exists(nodes_) ? outcome::ok : outcome::no_node;
        forget_node(r.node);
        touched_.erase(r.node);
        break;
    case operation::synchronize: catch_up(); break;
    case operation::read:
        for (const auto& [name, n] : seen_by_server())
            if (!lying_ || in_.below(3) != 0)
                a.names.push_back(name);
        if (lying_)
            for (std::size_t more = in_.below(3); more != 0; --more)
                a.names.emplace_back(in_.line());
        break;
    case operation::inspect:
    case operation::watch:
        a.result = exists(seen_by_server()) ? outcome::ok : outcome::no_node;
        if (a.result == outcome::ok)
            watched_.insert(r.node);
        break;
    case operation::unwatch: watched_.erase(r.node); break;
    }
    a.answered = std::move(r);
    a.known = seen_by_server();
    arriving_.push_back(std::move(a));
}

/// Deletes it, and tells this client's watch unless its server lags behind.
void queue_world::forget_node(const std::string& name)
{
    trace("  the server deletes", name);
    if (nodes_.erase(name) == 0 || lagging_)
        return;
    if (watched_.erase(name) != 0) {
        arrival a;
        a.node = name;
        a.known = nodes_;
        arriving_.push_back(std::move(a));
    }
}

void queue_world::catch_up()
{
    const auto old = std::exchange(lagging_, std::nullopt);
    if (!old)
        return;
    for (const auto& [name, n] : *old) {
        if (nodes_.contains(name) || watched_.erase(name) == 0)
            continue;
        arrival a;
        a.node = name;
        a.known = nodes_;
        arriving_.push_back(std::move(a));
    }
}

void queue_world::add_foreign()
{
    if (nodes_.size() == most_nodes)
        return;
    node n;
    std::string name;
    if (in_.below(4) == 0) {
        name = in_.line();
        const auto sequence = queue::sequence_of(name);
        if (name.empty() || name.find('/') != name.npos || !sequence || nodes_.contains(name))
            return;
        n.sequence = *sequence;
        n.out_of_turn = true;
    } else {
        n.sequence = static_cast<std::int32_t>(counter_);
        name = (in_.below(2) == 0 ? "_c_other-lock-" : "x__lock__") + std::to_string(++foreigners_);
        name += (name.front() == '_' ? "-lock-" : "__lock__") + next_number();
        n.out_of_turn = !queue::sequence_of(name).has_value(); // a small negative number: nobody's place any more
    }
    if (!lagging_ && in_.below(4) == 0)
        lagging_ = nodes_;
    trace("another client creates", name, lagging_ ? "(not seen yet)" : "");
    parent_exists_ = true;
    nodes_.emplace(std::move(name), n);
}

void queue_world::delete_some_node()
{
    if (nodes_.empty())
        return;
    const auto at = std::next(nodes_.begin(), static_cast<std::ptrdiff_t>(in_.below(nodes_.size())));
    if (!lagging_ && in_.below(8) == 0 && connected_)
        lagging_ = nodes_;
    if (at->second.creator != 0)
        touched_.insert(at->first);
    forget_node(std::string(at->first));
}

/// Somebody writes to it: its watch is used up, although it lives.
void queue_world::change_some_node()
{
    if (watched_.empty() || lagging_)
        return;
    const auto at = std::next(watched_.begin(), static_cast<std::ptrdiff_t>(in_.below(watched_.size())));
    arrival a;
    a.deleted = false;
    a.node = *at;
    trace("somebody changes", a.node);
    a.known = nodes_;
    watched_.erase(at);
    arriving_.push_back(std::move(a));
}

void queue_world::delete_parent()
{
    for (const auto& [name, n] : nodes(nodes_)) {
        if (n.creator != 0)
            touched_.insert(name);
        forget_node(name);
    }
    counter_ = 0;
    parent_exists_ = in_.below(2) == 0;
}

// --- the connection --------------------------------------------------------------------------------------------------

void queue_world::connect()
{
    if (connected_)
        return;
    connected_ = in_contact_ = true;
    if (in_.below(3) == 0)
        lagging_ = known_; // what this client may have seen, and no more
    trace("connected", lagging_ ? "to a server that lags behind" : "");
    queue_.epoch_began();
}

void queue_world::disconnect()
{
    if (!connected_)
        return;
    for (std::size_t executed = in_.below(8); executed != 0; --executed)
        execute();
    for (std::size_t delivered = in_.below(4); delivered != 0; --delivered)
        deliver();
    in_contact_ = false;
    trace("the connection ends");
    queue_.contact_lost();
    std::deque<request> unanswered;
    for (arrival& a : std::exchange(arriving_, {}))
        if (a.answered)
            unanswered.push_back(std::move(*a.answered));
    for (request& r : std::exchange(sent_, {}))
        unanswered.push_back(std::move(r));
    for (const request& r : unanswered) {
        fail(r);
        advance();
        if (in_.below(4) == 1) {
            leave(false);
            advance();
        }
    }
    require(sent_.empty(), "nothing is sent between a lost answer and the next connection");
    watched_.clear();
    lagging_.reset();
    connected_ = false;
    queue_.epoch_ended();
}

/// Between two connections: the server has ended the session, and deleted its nodes.
void queue_world::expire()
{
    trace("the session ends");
    for (const auto& [name, n] : nodes(nodes_))
        if (n.creator != 0)
            nodes_.erase(name);
    touched_.clear();
    for (auto& [whose, c] : callers_)
        c.nodes.clear();
    known_ = nodes_;
    lease_fresh_ = false;
    queue_.session_ended();
}

void queue_world::deliver()
{
    if (arriving_.empty())
        return;
    const arrival a = std::move(arriving_.front());
    arriving_.pop_front();
    known_ = a.known;
    if (a.answered)
        trace("answer to", names[static_cast<int>(a.answered->what)], a.answered->whose, a.answered->node, a.node,
              a.result == outcome::ok ? "" : "no", a.names.size());
    else
        trace("event", a.deleted ? "deleted" : "changed", a.node);
    if (a.answered)
        answer(*a.answered, a);
    else if (a.deleted)
        queue_.node_gone(a.node);
    else
        queue_.watch_fired(a.node);
}

void queue_world::answer(const request& r, const arrival& a)
{
    const bool ok = a.result == outcome::ok;
    switch (r.what) {
    case operation::create: {
        if (!ok) {
            parent_exists_ = true; // the recipes make it, then go on
            return queue_.create_failed(r.whose);
        }
        const std::int32_t sequence = queue::sequence_of(a.node).value_or(queue::sequence_limit);
        queue_.created(r.whose, a.node, sequence);
        return numbered(r.whose, sequence);
    }
    case operation::synchronize: synced_ = true; return;
    case operation::read: return queue_.children_read(a.names, synced_);
    case operation::inspect:
        if (!ok)
            return queue_.node_gone(r.node);
        numbered(r.whose, queue::sequence_of(r.node).value_or(queue::sequence_limit));
        return queue_.inspected(r.whose, r.node, true);
    case operation::watch: return ok ? queue_.watched(r.node) : queue_.node_gone(r.node);
    case operation::unwatch: return queue_.unwatched(r.node);
    case operation::remove: return queue_.removed(r.whose);
    }
}

void queue_world::fail(const request& r)
{
    trace("unknown:", names[static_cast<int>(r.what)], r.whose, r.node);
    switch (r.what) {
    case operation::create: return queue_.create_unknown(r.whose);
    case operation::synchronize: synced_ = false; return;
    case operation::read: return queue_.read_failed();
    case operation::inspect: return queue_.inspect_unknown(r.whose);
    case operation::watch: return queue_.watch_failed(r.node);
    case operation::unwatch: return queue_.unwatched(r.node);
    case operation::remove: return queue_.remove_failed(r.whose);
    }
}

/// As the recipes do: a number too close to the end is no place to wait at.
void queue_world::numbered(id whose, std::int32_t sequence)
{
    if (sequence >= 0 && sequence < queue::sequence_limit)
        return;
    const auto at = callers_.find(whose);
    if (at == callers_.end() || at->second.left || at->second.held)
        return;
    at->second.left = true;
    queue_.leave(whose);
}

void queue_world::send(operation what, id whose, std::string node)
{
    require(connected_ && in_contact_, "requests are made on a connection");
    trace("    ->", names[static_cast<int>(what)], whose, node);
    sent_.push_back({what, whose, std::move(node)});
}

// --- the queue's decisions -------------------------------------------------------------------------------------------

void queue_world::advance()
{
    while (may_create_) {
        const id whose = queue_.next_to_create();
        if (whose == 0)
            break;
        require(callers_.contains(whose), "a node is made for somebody who asked");
        std::string prefix = "_c_" + std::to_string(++creates_) + "-lock-";
        queue_.create_sent(whose, prefix);
        send(operation::create, whose, std::move(prefix));
    }
    const auto actions = queue_.next(lease_fresh_);
    for (const queue::action& a : actions) // requests come first, those of the refused too
        if (a.what == kind::refused)
            refused(a.id);
    for (const queue::action& a : actions)
        perform(a);
}

void queue_world::perform(const queue::action& a)
{
    switch (a.what) {
    case kind::synchronize: return send(operation::synchronize);
    case kind::read_children: return send(operation::read);
    case kind::inspect: return send(operation::inspect, a.id, a.node);
    case kind::watch: return send(operation::watch, 0, a.node);
    case kind::unwatch: return send(operation::unwatch, 0, a.node);
    case kind::remove:
        require(callers_.contains(a.id) && callers_.at(a.id).left, "only the node of one who has left is deleted");
        require(callers_.at(a.id).nodes.contains(a.node) || lists_lie_, "nobody's node is deleted but one's own");
        return send(operation::remove, a.id, a.node);
    case kind::granted: return granted(a.id);
    case kind::refused: return;
    case kind::lost: return forgotten(a.id, true);
    case kind::gone: return forgotten(a.id, false);
    }
}

void queue_world::refused(id whose)
{
    trace("    =>", "refused", whose);
    require(callers_.contains(whose), "who is refused is known");
    caller& c = callers_.at(whose);
    require(c.look_once && !c.left && !c.held, "only who looks once and waits can be refused");
    c.left = true;
}

void queue_world::granted(id whose)
{
    trace("    =>", "granted", whose);
    require(callers_.contains(whose), "the lock goes to one who asked");
    caller& c = callers_.at(whose);
    require(!c.left && !c.held && lease_fresh_, "the lock goes to one who waits, under a fresh lease");
    c.held = true;
    if (lists_lie_)
        return;
    for (const auto& [other, o] : callers_) {
        if (other == whose || !o.held || o.left)
            continue;
        const bool lives =
            std::any_of(o.nodes.begin(), o.nodes.end(), [&](const auto& n) { return nodes_.contains(n); });
        require(!lives, "there is one holder");
    }
    const std::string& own = queue_.node(whose);
    const auto at = nodes_.find(own);
    if (at == nodes_.end()) // an outside delete that nobody could have heard of yet
        return require(touched_.contains(own), "a holder's node lives, unless others deleted it");
    for (const auto& [name, n] : nodes_) {
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
            require(!nodes_.contains(name), "a contender that is forgotten leaves no node");
    callers_.erase(at);
}

} // namespace zklock::fuzz
