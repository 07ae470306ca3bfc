#include "queue/decisions.hpp"

#include "queue/those_before.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

namespace zklock::queue {

namespace {

/// What decide() does, once.
class decisions {
public:
    decisions(known_queue& known, node_reuse& reuse, parent_emptying& emptying, std::vector<action>& actions,
              bool lease_renewable)
        : known_(known), own_(known.own()), places_(known.places()), watches_(known.watches()), reads_(known.reads()),
          reuse_(reuse), emptying_(emptying), actions_(actions), lease_renewable_(lease_renewable)
    {
    }
    void take();

private:
    // who is granted, and what has to be known before
    [[nodiscard]] bool decide_first();
    [[nodiscard]] bool queue_behind(contender&, view::iterator predecessor);
    [[nodiscard]] bool grant_first(contender&);
    void seek_coverage(std::uint64_t stamp);
    void wait_for(view::iterator predecessor, contender_kind);
    [[nodiscard]] view::iterator nearest_below(view::iterator, contender_kind);
    [[nodiscard]] bool watches_own(const contender& c) const { return watches_.is_armed(node_of(c)); }
    /// It has waited, and others may have deleted its node meanwhile: it would not hear of that.
    [[nodiscard]] bool has_to_watch_own(const contender& c) const { return c.waited_for_another && !watches_own(c); }
    [[nodiscard]] bool may_pass_over(const contender&);
    void refuse(contender&, bool by_others);
    void refuse_those_behind();

    // nodes and watches that have served
    void decide_lingering(contender&);
    void pass_on(contender&, bool counts);
    void remove_those_left();
    [[nodiscard]] bool only_ours_wait_for(const place&) const;
    void disarm_unneeded();

    void inspect_those_found();
    void send_downgrades();
    void look_after_holders();
    void arm(const std::string& node) { watches_.arm(actions_, node); }
    void read(action::kind how, bool looks_up = false) { reads_.send(actions_, how, looks_up); }

    known_queue& known_;
    own_contenders& own_;
    places& places_;
    watches& watches_;
    readings& reads_;
    node_reuse& reuse_;
    parent_emptying& emptying_;
    std::vector<action>& actions_;
    const bool lease_renewable_;
};

void decisions::take()
{
    const bool connected = known_.connected();
    if (connected) {
        if (!own_.unknown().empty() && reads_.may_look_up())
            read(action::kind::read_children, true);
        inspect_those_found();
    }
    if (own_.lingering() != nullptr)
        decide_lingering(*own_.lingering());
    const auto anybody_waits = [this] { return !own_.queued().empty() || !own_.creating().empty(); };
    while (anybody_waits() && decide_first()) {
    }
    if (own_.looking_once() != 0)
        refuse_those_behind();
    if (connected && known_.parent().scarce())
        emptying_.go_on(known_, actions_);
    if (connected) {
        if (!known_.to_remove().empty())
            remove_those_left();
        send_downgrades();
        if (watches_.have_to_look_after_holders())
            look_after_holders();
        if (watches_.any_of_others())
            disarm_unneeded();
    }
    reads_.decided();
    std::vector<action>& news = known_.news();
    if (actions_.empty()) {
        actions_.swap(news);
    } else {
        std::move(news.begin(), news.end(), std::back_inserter(actions_));
        news.clear();
    }
}

void decisions::inspect_those_found()
{
    for (contender_id id : known_.to_inspect()) {
        const contender* const c = own_.find_in(phase::inspecting, id);
        if (c == nullptr)
            continue;
        watches_.arms(node_of(*c));
        actions_.push_back({action::kind::inspect, id, node_of(*c)});
    }
    known_.to_inspect().clear();
}

void decisions::send_downgrades()
{
    for (contender& c : own_.downgrading())
        if (std::exchange(c.into_reader, downgrade_state::sent) != downgrade_state::sent)
            actions_.push_back({action::kind::downgrade, c.id, node_of(c)});
}

void decisions::look_after_holders()
{
    for (const contender& c : own_.held())
        if (c.holds_on)
            arm(node_of(c));
}

// --- who is granted, and what has to be known before -----------------------------------------------------------------

/// Only the first of those that wait has to know who is before it: the others wait for the first. True when another one
/// is the first now.
bool decisions::decide_first()
{
    if (own_.queued().empty()) {
        if (known_.connected() && known_.creates_seek_coverage())
            seek_coverage(own_.creating().begin()->create_stamp);
        return false;
    }
    contender& c = own_.first_queued();
    // What stands before it is to be known: all who were there when it came.
    if (!c.covered) {
        if (known_.connected())
            seek_coverage(c.create_stamp);
        return false;
    }
    const auto predecessor = nearest_below(c.spot, c.kind);
    const bool anothers = predecessor != places_.live().end() && predecessor->second == 0;
    // Neither the end of the connection tells that another's node is gone, nor the end of a node behind it.
    if (predecessor == places_.live().end())
        return grant_first(c);
    if (!anothers)
        return false; // it is one of ours: we shall know
    return queue_behind(c, predecessor);
}

/// The first that waits has to wait for a node of another client. True when it does not, because it looks once.
bool decisions::queue_behind(contender& c, view::iterator predecessor)
{
    if (c.look_once) {
        refuse(c, true);
        return true;
    }
    c.waited_for_another = true;
    if (!known_.connected())
        return false;
    arm(node_of(c));
    wait_for(predecessor, c.kind);
    return false;
}

/// Nothing that is known is in the way of the first that waits: true when it is granted, false when something has to be
/// made sure of before.
bool decisions::grant_first(contender& c)
{
    const bool before_known = !reads_.may_have_grown(c.kind) && !reads_.only_known_of_old(c);
    if (!before_known) {
        if (known_.connected() && reads_.sent() < reads_.to_be_listed())
            read(action::kind::read_children);
        return false;
    }
    if (!may_pass_over(c))
        return false;
    const bool over_let_go = places_.stands_over_let_go(c);
    if (has_to_watch_own(c)) {
        if (known_.connected())
            arm(node_of(c));
        return false;
    }
    if (!c.token_known)
        return false;
    if (!lease_renewable_)
        return false;
    known_.move(c, phase::held);
    reuse_.granted();
    known_.news().push_back({action::kind::granted, c.id, {}, false, 0, false, over_let_go, places_.pass_over(c)});
    return true;
}

/// Asks for what covers a contender whose create has that stamp, unless that was asked for already. A contender that is
/// likely to be alone asks for the parent's own node only: the number of its children may tell.
void decisions::seek_coverage(std::uint64_t stamp)
{
    const bool parent_seen = known_.parent().watch(actions_);
    if (!parent_seen && !known_.others_expected())
        return;
    if (reads_.sent() < stamp)
        read(action::kind::read_children);
}

/// Watches the node before the first that waits, and the one before that: when both are gone, nobody else is left, and
/// no read has to find that out. (Without this look-ahead, each hand-off would need a read.)
void decisions::wait_for(view::iterator predecessor, contender_kind kind)
{
    const bool in_doubt = reads_.in_doubt(kind);
    if (in_doubt && reads_.sent() < reads_.doubted())
        read(action::kind::read_children);
    if (!in_doubt || watches_.is_watched(predecessor->first.node))
        watches_.arm_for_another(actions_, predecessor->first.node);
    if (in_doubt)
        return;
    const auto before = nearest_below(predecessor, kind);
    if (before != places_.live().end() && before->second == 0)
        watches_.arm_for_another(actions_, before->first.node);
}

/// The nearest node before that one that excludes a contender of that kind. Where a node of another client was let go,
/// ours still count, and so do those below it.
view::iterator decisions::nearest_below(view::iterator node, contender_kind kind)
{
    view& live = places_.live();
    while (node != live.begin()) {
        --node;
        const bool ours = node->second != 0;
        if (excludes(node->first.kind, kind))
            return node;
        if (ours && own_.at(node->second).now == phase::held)
            break; // this reader of ours holds: so no writer is before it
    }
    return live.end();
}

/// Whether the contender may be granted over the nodes before it that were let go, if there are any: its own was seen
/// right now, or it has to hear when others delete it. Nobody could tell it so without a connection.
bool decisions::may_pass_over(const contender& c)
{
    if (!places_.stands_over_let_go(c))
        return true;
    if (!known_.connected())
        return false;
    const bool listed = reads_.answered() > c.create_stamp;
    if (listed && reads_.just_listed())
        return true;
    if (!watches_own(c))
        arm(node_of(c));
    return watches_own(c);
}

void decisions::refuse(contender& c, bool by_others)
{
    known_.start_leaving(c, true);
    known_.news().push_back({action::kind::refused, c.id, {}});
    known_.news().back().by_others = by_others;
}

/// Refuses whoever looks once, behind one of ours, and cannot hold the lock together with somebody before it.
void decisions::refuse_those_behind()
{
    std::vector<contender*> behind;
    bool after_any = !own_.held().empty() || !own_.downgrading().empty();
    bool after_one_alone =
        !own_.downgrading().empty() || (!own_.held().empty() && !is_shared(own_.held().begin()->kind));
    if (!own_.queued().empty()) { // if the first is a reader that waits, it is for a writer, and so do all behind it
        const contender& first = own_.first_queued();
        after_one_alone = after_one_alone || (is_shared(first.kind) && first.covered &&
                                              nearest_below(first.spot, first.kind) != places_.live().end());
    }
    for (contender& c : own_.queued()) {
        if (c.look_once && (is_shared(c.kind) ? after_one_alone : after_any))
            behind.push_back(&c);
        after_any = true;
        after_one_alone = after_one_alone || !is_shared(c.kind);
    }
    for (contender* c : behind)
        refuse(*c, before(known_, c->id, 0).excluded);
}

// --- nodes and watches that have served ------------------------------------------------------------------------------

/// The node of a holder that gave the lock back is passed on, left to linger, or not needed any more.
void decisions::decide_lingering(contender& c)
{
    const bool alone = reuse_.undisturbed(known_, c);
    // The children are watched even if the node is passed on at once: its cohort is not counted then, and those who
    // queue have to be noticed.
    if (alone && known_.connected() && known_.parent().has_to_watch_children())
        read(action::kind::watch_children);
    if (!own_.wanted().empty() && (alone || c.cohort_left > 0)) {
        if (!lease_renewable_)
            return known_.start_leaving(c, true);
        if (!may_pass_over(c))
            return;
        return pass_on(c, !alone);
    }
    if (!alone || !known_.connected())
        return known_.start_leaving(c, true);
    if (!std::exchange(c.lingering_told, true))
        known_.news().push_back({action::kind::lingers, c.id, {}});
}

/// The next that wants a node is granted on that of the contender. `counts`: its cohort does.
void decisions::pass_on(contender& c, bool counts)
{
    const bool over_let_go = places_.stands_over_let_go(c);
    contender& next = *own_.wanted().begin();
    next.spot = c.spot;
    next.spot->second = next.id;
    next.create_stamp = c.create_stamp;
    next.covered = next.token_known = true;
    next.further_grants = c.further_grants - 1;
    next.cohort_left = std::min(c.cohort_left - (counts ? 1 : 0), next.further_grants);
    known_.move(next, phase::held);
    known_.news().push_back(
        {action::kind::granted, next.id, {}, false, c.id, false, over_let_go, places_.pass_over(next)});
    known_.forget(c, action::kind::gone);
}

void decisions::remove_those_left()
{
    for (contender_id id : known_.to_remove()) {
        contender* const found = own_.find(id);
        if (found == nullptr || std::exchange(found->removing, true))
            continue;
        const contender& c = *found;
        actions_.push_back({action::kind::remove, id, {}, only_ours_wait_for(c.spot->first), 0, c.left_by_own_will});
    }
    known_.to_remove().clear();
}

/// Whether the next node above is one of ours, and nothing unknown can be between. Several may wait for a node that
/// excludes readers: all readers up to the next such node.
bool decisions::only_ours_wait_for(const place& left) const
{
    const view& live = places_.live();
    for (auto above = live.upper_bound(left); above != live.end(); ++above) {
        if (above->second == 0 || !own_.at(above->second).covered)
            return false;
        if (is_shared(left.kind) || !is_shared(above->first.kind))
            return true;
    }
    return false;
}

/// A node of ours takes its watches with it; watches on nodes of others would stay on the server after us.
void decisions::disarm_unneeded()
{
    const auto end = places_.live().end();
    auto predecessor = end;
    auto before = end;
    const bool held_back = own_.queued().empty() && !emptying_.awaited().empty();
    if (own_.contending() > own_.held().size() && !held_back) {
        if (own_.queued().empty() || !own_.first_queued().covered)
            return; // not known yet
        const contender& first = own_.first_queued();
        predecessor = nearest_below(first.spot, first.kind);
        if (predecessor != end)
            before = nearest_below(predecessor, first.kind);
    }
    const auto needed = [&](const std::string& node) {
        return (!own_.wanted().empty() && node == emptying_.awaited()) ||
               (predecessor != end && node == predecessor->first.node) || (before != end && node == before->first.node);
    };
    watches_.disarm_unneeded(actions_,
                             [&](const std::string& node) { return needed(node) || !places_.is_anothers(node); });
}

} // namespace

void decide(known_queue& known, node_reuse& reuse, parent_emptying& emptying, std::vector<action>& actions,
            bool lease_renewable)
{
    decisions(known, reuse, emptying, actions, lease_renewable).take();
}

} // namespace zklock::queue
