#include "queue/lock_queue.hpp"

#include "queue/mutants.hpp"
#include "queue/node_name.hpp"

#include <algorithm>
#include <utility>

namespace zklock::queue {

// --- contenders, as their callers wish -----------------------------------------------------------------------------

void lock_queue::join(contender_id id, bool look_once, contender_kind kind)
{
    contender& c = contenders_[id];
    c.look_once = look_once && !ZKLOCK_MUTANT(try_waits_for_its_turn);
    c.kind = kind;
    wanted_.insert(id);
    ++contending_;
    contending_alone_ += !is_shared(kind);
}

void lock_queue::leave(contender_id id)
{
    contender& c = at(id);
    if (ZKLOCK_MUTANT(cancelled_unknown_create_forgotten) && c.now == phase::unknown)
        return forget(id, action::kind::gone);
    switch (c.now) {
    case phase::wanted: forget(id, action::kind::gone); break;
    case phase::creating:
    case phase::unknown: abandon(c); break;
    case phase::downgrading:
        if (c.into_reader == change::unsent)
            start_leaving(id, c);
        else
            abandon(c);
        break;
    case phase::inspecting:
    case phase::queued:
    case phase::lingering: start_leaving(id, c); break;
    case phase::held:
        if (may_stay(c))
            move(id, c, phase::lingering);
        else
            start_leaving(id, c);
        break;
    case phase::leaving: break;
    }
}

/// It is seen to as soon as it is known what its node is.
void lock_queue::abandon(contender& c)
{
    if (std::exchange(c.abandoned, true))
        return;
    --contending_;
    contending_alone_ -= !is_shared(c.kind);
    --with_node_;
}

void lock_queue::hold_on(contender_id id)
{
    if (!std::exchange(at(id).holds_on, true))
        look_after_holders_ = true;
}

void lock_queue::revoke(contender_id id)
{
    contender& c = at(id);
    c.revoked = true;
    if (c.now == phase::lingering)
        start_leaving(id, c);
}

contender_id lock_queue::contender_of(std::string_view node) const
{
    const auto found = view_.find({sequence_of(node).value_or(0), std::string(node)});
    return found == view_.end() ? 0 : found->second;
}

void lock_queue::stop_lingering()
{
    if (lingering_ != 0)
        start_leaving(lingering_, at(lingering_));
}

std::vector<contender_id> lock_queue::lapse()
{
    stop_lingering();
    std::vector<contender_id> lost(held_.begin(), held_.end());
    for (contender_id id : lost) {
        start_leaving(id, at(id));
        if (ZKLOCK_MUTANT(lapsed_holder_keeps_its_node))
            to_remove_.pop_back();
    }
    for (contender_id id : std::vector(downgrading_.begin(), downgrading_.end())) {
        if (at(id).abandoned)
            continue;
        leave(id);
        lost.push_back(id);
    }
    return lost;
}

// --- creates -------------------------------------------------------------------------------------------------------

contender_id lock_queue::next_to_create() const
{
    // Who is looked for joined before, and is to keep its turn.
    const bool may_create = connected_ && unknown_.empty() && !wanted_.empty() && lingering_ == 0;
    if (!may_create)
        return 0;
    // Where nodes are passed on, one is enough, and the next one queues while the last turn lasts.
    if (allowed_.turns > 1 && with_node_ != 0) {
        const bool last_turn = with_node_ == 1 && held_.size() == 1 && contenders_.at(*held_.begin()).turns_left == 0;
        if (!last_turn)
            return 0;
    }
    return *wanted_.begin();
}

void lock_queue::create_sent(contender_id id, std::string prefix)
{
    contender& c = at(id);
    c.prefix = std::move(prefix);
    c.create_turn = ++turn_;
    move(id, c, phase::creating);
}

void lock_queue::create_sent_again(contender_id id)
{
    contender& c = at(id);
    creating_.erase(c.create_turn);
    c.create_turn = ++turn_;
    creating_.emplace(c.create_turn, id);
}

void lock_queue::created(contender_id id, std::string_view node, std::int32_t sequence, std::int64_t czxid)
{
    contender& c = at(id);
    c.czxid = czxid;
    const bool known_to_be_given = dense_ && sequence <= known_through_;
    const bool numbers_began_again = sequence >= 0 && (known_to_be_given || own_node_from(sequence));
    if (numbers_began_again && !ZKLOCK_MUTANT(numbers_that_begin_again_ignored)) {
        dense_ = false;
        last_look_.reset();
        forget_view();
    }
    give_place(id, c, node, sequence);
    // No number follows the largest.
    const bool follows = sequence >= 0 && sequence - 1 - numbers_used_ == known_through_;
    const bool next_one = dense_ && (follows || ZKLOCK_MUTANT(gaps_ignored));
    if (next_one) {
        known_through_ = sequence;
        numbers_used_ = 0;
        c.covered = true;
    } else if (sequence == 0) {
        c.covered = true; // nothing can be lower
        if (parent_ == watch_state::armed)
            know_through(1);
    }
    if (c.covered)
        company_ = false;
    else if (dense_)
        company_ = true;
    if (c.abandoned && ZKLOCK_MUTANT(cancelled_create_not_deleted))
        return c.spot->second = 0, forget(id, action::kind::gone);
    if (c.abandoned)
        start_leaving(id, c);
    else
        move(id, c, phase::queued);
}

void lock_queue::numbered(contender_id id, unsigned further_grants, std::int64_t czxid)
{
    const auto found = contenders_.find(id);
    if (found == contenders_.end())
        return;
    contender& c = found->second;
    c.numbered = true;
    if (czxid != 0)
        c.czxid = czxid;
    c.further_grants = further_grants;
    c.turns_left = std::min(allowed_.turns - 1, further_grants);
    if (last_look_)
        see_whether_alone(); // which may show that it is gone
}

void lock_queue::not_numbered(contender_id id)
{
    const auto found = contenders_.find(id);
    if (found != contenders_.end() && found->second.now == phase::queued)
        move(id, found->second, phase::inspecting);
}

bool lock_queue::stands_on(contender_id id, std::string_view prefix) const
{
    const auto found = contenders_.find(id);
    if (found == contenders_.end())
        return false;
    const phase now = found->second.now;
    const bool placed = now != phase::wanted && now != phase::creating && now != phase::unknown;
    return placed && node_of(found->second).starts_with(prefix);
}

/// Whether a node of ours is known with that number or a higher one. A parent's numbers only grow, and answers come in
/// order: so when a new node gets a lower one, others have deleted the parent and made it again.
bool lock_queue::own_node_from(std::int32_t sequence) const
{
    for (auto known = view_.lower_bound({sequence, {}}); known != view_.end(); ++known)
        if (known->second != 0 && !contenders_.at(known->second).parent_gone)
            return true;
    return left_.lower_bound({sequence, {}}) != left_.end();
}

/// All that was in it is gone.
void lock_queue::forget_view()
{
    for (auto known = view_.begin(); known != view_.end();) {
        const auto gone = known++;
        if (gone->second == 0)
            view_.erase(gone);
        else if (const auto c = contenders_.find(gone->second); c->second.now == phase::downgrading)
            c->second.parent_gone = true; // its answer is still due
        else
            own_node_gone(gone->second);
    }
    while (!left_.empty())
        own_node_gone(left_.begin()->second);
    growth_turn_ = 0;
}

void lock_queue::create_failed(contender_id id)
{
    contender& c = at(id);
    if (c.abandoned)
        forget(id, action::kind::gone);
    else
        want_again(id, c);
}

void lock_queue::create_unknown(contender_id id)
{
    if (ZKLOCK_MUTANT(create_repeated_without_look_up))
        return create_failed(id);
    move(id, at(id), phase::unknown);
}

// --- epochs and sessions ---------------------------------------------------------------------------------------------

void lock_queue::epoch_began()
{
    connected_ = true;
    to_remove_.clear();
    for (const auto& [id, c] : contenders_)
        if (c.now == phase::leaving && !ZKLOCK_MUTANT(delete_not_retried))
            to_remove_.push_back(id);
    look_after_holders_ = true;
}

void lock_queue::contact_lost()
{
    if (!ZKLOCK_MUTANT(dense_view_outlives_its_epoch))
        forget_parent();
    connected_ = ZKLOCK_MUTANT(requests_after_a_lost_answer);
}

void lock_queue::epoch_ended()
{
    contact_lost();
    connected_ = false;
    stop_lingering(); // nobody would tell us who queues
    if (!ZKLOCK_MUTANT(watches_outlive_their_epoch))
        watches_.clear();
    reads_.clear();
    look_up_refused_ = false;
    last_read_turn_ = answered_turn_ = 0;
    if (ZKLOCK_MUTANT(disconnection_counts_as_deletion))
        std::erase_if(view_, [](const auto& known) { return known.second == 0; });
    // Whoever left unseen in the meantime is found out when its watch is armed again.
}

void lock_queue::session_ended()
{
    std::vector<contender_id> ids;
    for (const auto& [id, c] : contenders_)
        ids.push_back(id);
    for (contender_id id : ids) {
        contender& c = at(id);
        const bool holds = c.now == phase::held || (c.now == phase::downgrading && !c.abandoned);
        if (holds)
            forget(id, action::kind::lost);
        else if (c.now == phase::leaving || c.now == phase::lingering || c.abandoned)
            forget(id, action::kind::gone);
        else if (ZKLOCK_MUTANT(adopts_a_node_of_the_old_session) && c.now == phase::unknown)
            continue;
        else if (c.now != phase::wanted)
            want_again(id, c);
    }
    view_.clear(); // the contenders' places are in them until here
    left_.clear();
    to_remove_.clear();
    doubt_turn_ = growth_turn_ = 0;
}

// --- changes of state ----------------------------------------------------------------------------------------------

/// Takes the contender out of its phase's index and puts it into the next one's.
void lock_queue::move(contender_id id, contender& c, phase to)
{
    const auto leaves = [](phase p) { return p == phase::leaving || p == phase::lingering; };
    const auto has_node = [=](phase p) { return p != phase::wanted && !leaves(p); };
    const bool counted = !c.abandoned;
    switch (c.now) {
    case phase::wanted: wanted_.erase(id); break;
    case phase::creating: creating_.erase(c.create_turn); break;
    case phase::unknown: unknown_.erase(id); break;
    case phase::inspecting: break;
    case phase::queued:
        queued_.erase({c.spot->first.sequence, id});
        looking_once_ -= c.look_once;
        break;
    case phase::held: held_.erase(id); break;
    case phase::downgrading: downgrading_.erase(id); break;
    case phase::lingering: lingering_ = 0; break;
    case phase::leaving: break;
    }
    if (counted) {
        with_node_ -= has_node(c.now);
        with_node_ += has_node(to);
        const bool ceases = leaves(to) && !leaves(c.now);
        contending_ -= ceases;
        contending_alone_ -= ceases && !is_shared(c.kind);
    }
    c.now = to;
    switch (to) {
    case phase::wanted: wanted_.insert(id); break;
    case phase::creating: creating_.emplace(c.create_turn, id); break;
    case phase::unknown: unknown_.insert(id); break;
    case phase::inspecting: to_inspect_.push_back(id); break;
    case phase::queued:
        queued_.insert({c.spot->first.sequence, id});
        looking_once_ += c.look_once;
        break;
    case phase::held: held_.insert(id); break;
    case phase::downgrading: downgrading_.insert(id); break;
    case phase::lingering: lingering_ = id; break;
    case phase::leaving: to_remove_.push_back(id); break;
    }
}

void lock_queue::forget(contender_id id, action::kind news)
{
    contender& c = at(id);
    if (c.now != phase::leaving)
        move(id, c, phase::leaving);
    contenders_.erase(id);
    news_.push_back({news, id, {}});
}

/// Its node never came to be, or is gone without its wish: it queues again, at the tail.
void lock_queue::want_again(contender_id id, contender& c)
{
    move(id, c, phase::wanted);
    c.prefix.clear();
    c.covered = c.waited_for_another = c.holds_on = c.removing = c.revoked = c.numbered = false;
}

void lock_queue::start_leaving(contender_id id, contender& c)
{
    move(id, c, phase::leaving);
    c.spot = left_.insert(view_.extract(c.spot)).position;
}

void lock_queue::give_place(contender_id id, contender& c, std::string_view node, std::int32_t sequence)
{
    c.spot = view_.insert_or_assign({sequence, std::string(node), c.kind}, id).first;
    c.prefix.clear();
}

void lock_queue::own_node_gone(contender_id id)
{
    const auto found = contenders_.find(id);
    if (found == contenders_.end())
        return;
    contender& c = found->second;
    if (ZKLOCK_MUTANT(own_deleted_node_ignored) && c.now == phase::queued)
        return;
    if (c.now == phase::downgrading)
        return; // by others, or by its own transaction: whose answer will tell
    const view::iterator place = c.spot; // the contender's phase is left by way of it
    view& of_it = c.now == phase::leaving ? left_ : view_;
    switch (c.now) {
    case phase::held: forget(id, action::kind::lost); break;
    case phase::lingering:
    case phase::leaving: forget(id, action::kind::gone); break;
    default: want_again(id, c);
    }
    watches_.erase(place->first.node);
    of_it.erase(place);
}

} // namespace zklock::queue
