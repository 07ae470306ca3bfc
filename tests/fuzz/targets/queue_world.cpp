#include "queue_world.hpp"

namespace zklock::fuzz {

namespace {

constexpr std::size_t most_callers = 12;

/// Where a parent's counter may stand: at its beginning, or where zklock has to refuse.
constexpr std::uint32_t counters[] = {0, 7, static_cast<std::uint32_t>(queue::sequence_limit) - 3, 0x7fff'fffd};

constexpr unsigned cohorts[] = {1, 1, 2, 4};

/// Readers' and writers' nodes serve one each.
queue::reuse reuse_from(input& in, bool shared)
{
    const queue::reuse chosen{in.below(2) == 1, cohorts[in.below(4)]};
    return shared ? queue::reuse() : chosen;
}

/// In some worlds numbers are scarce after a few.
std::int32_t scarce_from(std::uint8_t first)
{
    return first / 4 % 4 == 1 ? 1 + first / 16 : queue::sequence_scarce;
}

} // namespace

queue_world::queue_world(input& in) : queue_world(in, in.byte()) {}

queue_world::queue_world(input& in, std::uint8_t first)
    : in_(in), lists_lie_(first % 4 == 3), lying_(lists_lie_), shared_(first >= 96 && first < 160),
      hands_off_((first >= 128 && first < 152) || (first >= 176 && first < 208)), gathers_(in.below(2) == 1),
      allowed_(reuse_from(in, shared_)), queue_(allowed_, scarce_from(first))
{
    tree_.ever = counters[in.below(4)];
    known_ = tree_;
}

void queue_world::step()
{
    const std::size_t usual = shared_ ? 32 : 28;
    const std::size_t chosen = in_.below(usual + (hands_off_ ? 4 : 0));
    switch (chosen < usual ? chosen : 32) {
    case 0:
    case 1:
    case 2: join(); break;
    case 3: leave(false); break;
    case 4: leave(true); break;
    case 5: hold_on(); break;
    case 6: lapse(); break;
    case 7: lease_renewable_ = connected_; break;
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
        else if (const auto chosen = in_.below(3); chosen == 0)
            delete_parent();
        else if (chosen == 1)
            refuse();
        break;
    case 24:
    case 25:
        if (send_writes())
            decide();
        break;
    case 26: set_parent(); break;
    case 27: queue_.stop_lingering(); break;
    case 28:
    case 29: downgrade(); break;
    case 30: downgrade_foreign(); break;
    case 31: execute(); break;
    case 32: in_.below(4) == 0 ? await_ours() : certify(); break;
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
        lease_renewable_ = true;
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
        check_all_is_given();
        if (pick(true) != 0) {
            leave(true);
            advance();
        } else if (queue_.own().lingering() != nullptr) {
            queue_.stop_lingering();
            advance();
        }
    }
    while (!sent_.empty() || !arriving_.empty()) {
        execute();
        deliver();
        advance();
    }
    require(queue_.idle() && !queue_.own().contended() && queue_.own().with_node() == 0,
            "when all have left, nothing is left to do");
    require(watched_.empty(), "no watch is left on the server");
    require(lists_lie_ || !queue_.known().parent().watched() || parent_watched_ || children_watched_ || refused_,
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
    caller& c = callers_[whose];
    c.look_once = look_once;
    if (shared_)
        c.is = in_.below(2) == 0 ? queue_kind::reader : queue_kind::writer;
    trace("join", whose, is_shared(c.is) ? "reads" : "", look_once ? "looks once" : "");
    queue_.join(whose, look_once, c.is);
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

void queue_world::downgrade()
{
    const id whose = pick(true);
    if (whose == 0)
        return;
    caller& c = callers_.at(whose);
    if (is_shared(c.is) || c.downgrading)
        return;
    trace("downgrade", whose);
    c.downgrading = true;
    c.downgrade_sent = false;
    queue_.downgrade(whose);
}

void queue_world::lapse()
{
    trace("the lease ends");
    lease_renewable_ = false;
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
    const bool should_know = was_quiet_ && quiet() && lease_renewable_;
    if (should_know && others_queue())
        require(queue_.own().lingering() == nullptr, "no node lingers before others who queue");
}

bool queue_world::quiet() const
{
    return in_contact_ && sent_.empty() && arriving_.empty() && !lagging_ && !lists_lie_;
}

bool queue_world::others_queue() const
{
    return std::any_of(tree_.children.begin(), tree_.children.end(), [this](const auto& child) {
        const auto& [name, n] = child;
        return n.creator == 0 && queue::name_rules().sequence_of(name).has_value() && !is_let_go(name, n);
    });
}

void queue_world::decide()
{
    was_quiet_ = quiet();
    const auto actions = queue_.next(lease_renewable_);
    for (const queue::action& a : actions) { // requests come first, those of the refused too
        if (a.what == kind::refused)
            refused(a.id);
        else if (a.what == kind::shares)
            shares(a.id, a.node);
        else if (a.what == kind::exhausted)
            exhausted(a.id);
    }
    for (const queue::action& a : actions)
        perform(a);
    listed_.clear();
}

bool queue_world::send_writes()
{
    if (!in_contact_)
        return false;
    std::vector<write> writes;
    for (const id whose : std::exchange(removes_, {}))
        if (queue_.own().knows(whose))
            writes.push_back({false, whose, queue_.own().node(whose)});
    while (may_create_) {
        const id whose = queue_.next_to_create();
        if (whose == 0)
            break;
        require(callers_.contains(whose), "a node is made for somebody who asked");
        const queue_kind is = callers_.at(whose).is;
        const char* const mark = is == queue_kind::mutex ? "lock-" : is_shared(is) ? "__READ__" : "__WRIT__";
        std::string prefix = "_c_" + std::to_string(++creates_) + "-" + mark;
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
        check_remove(a);
        removes_.push_back(a.id);
        if (a.by_own_will)
            told_.insert(queue_.own().node(a.id));
        return;
    case kind::downgrade: {
        require(callers_.contains(a.id), "a writer that becomes a reader is known");
        caller& c = callers_.at(a.id);
        require(c.held && c.downgrading, "nobody is downgraded who did not ask for it");
        require(!c.left || c.downgrade_sent, "nor, if it was not begun, who has left");
        c.downgrade_sent = true;
        return send(operation::downgrade, a.id, a.node);
    }
    case kind::remove_parent: return send(operation::look_at_parent);
    case kind::shares:
    case kind::exhausted:
    case kind::not_found: return;
    case kind::granted: return granted(a);
    case kind::refused: return;
    case kind::lingers:
        trace("    =>", "lingers", a.id);
        require(allowed_.linger && callers_.at(a.id).left, "who lingers has left");
        return;
    case kind::lost: return forgotten(a.id, true);
    case kind::gone:
    case kind::vanished: return forgotten(a.id, false);
    }
}

} // namespace zklock::fuzz
