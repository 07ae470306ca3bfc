// What callers wish, what became of creates, and epochs: the first part of lock_queue.
#include "queue/lock_queue.hpp"

#include "queue/node_name.hpp"

#include <algorithm>
#include <utility>

namespace zklock::queue {

// --- contenders, as their callers wish -----------------------------------------------------------------------------

void lock_queue::join(contender_id id, bool look_once, contender_kind kind)
{
    ours_.add(id, look_once, kind);
}

void lock_queue::leave(contender_id id, bool by_own_will)
{
    leave(ours_.at(id), by_own_will);
}

void lock_queue::leave(contender& c, bool by_own_will)
{
    switch (c.now) {
    case phase::wanted: forget(c, action::kind::gone); break;
    case phase::creating:
    case phase::unknown: ours_.abandon(c); break;
    case phase::downgrading:
        if (c.into_reader == downgrade_state::unsent)
            start_leaving(c);
        else
            ours_.abandon(c);
        break;
    case phase::inspecting: start_leaving(c); break;
    case phase::queued:
    case phase::lingering: start_leaving(c, by_own_will); break;
    case phase::held:
        if (may_stay(c))
            move(c, phase::lingering);
        else
            start_leaving(c, by_own_will);
        break;
    case phase::leaving: break;
    }
}

void lock_queue::hold_on(contender_id id)
{
    if (!std::exchange(ours_.at(id).holds_on, true))
        look_after_holders_ = true;
}

void lock_queue::revoke(contender_id id)
{
    contender& c = ours_.at(id);
    c.revoked = true;
    if (c.now == phase::lingering)
        start_leaving(c, true);
}

contender_id lock_queue::contender_of(std::string_view node) const
{
    const auto found = view_.find(place_name{names_.sequence_of(node).value_or(0), node});
    return found == view_.end() ? 0 : found->second;
}

bool lock_queue::owns(std::string_view node) const
{
    const std::int32_t sequence = names_.sequence_of(node).value_or(0);
    const auto made_it = [prefix = prefix_of(node, sequence)](const contender& c) { return c.prefix == prefix; };
    const auto reads_on = [node](const contender& c) { return reader_name(node_of(c)) == node; };
    return contender_of(node) != 0 || left_.contains(place_name{sequence, node}) ||
           std::any_of(ours_.unknown().begin(), ours_.unknown().end(), made_it) ||
           std::any_of(ours_.downgrading().begin(), ours_.downgrading().end(), reads_on);
}

bool lock_queue::misses_any(const std::set<std::string_view>& names) const
{
    return std::any_of(view_.begin(), view_.end(), [&](const auto& known) {
        const auto& [where, id] = known;
        return id != 0 && ours_.at(id).now != phase::downgrading && !names.contains(where.node);
    });
}

/// Before it, all nodes that are not known to be gone are there: so one of ours knows, the first that waits.
view::const_iterator lock_queue::known_until() const
{
    const bool known = !ours_.queued().empty() && ours_.queued().begin()->covered;
    return known ? view::const_iterator(ours_.queued().begin()->spot) : view_.begin();
}

/// Elsewhere a watch would tell that one is gone.
bool lock_queue::is_there(const view::value_type& node, view::const_iterator until) const
{
    return node.second != 0 || until == view_.end() || node.first < until->first || is_watched(node.first.node);
}

/// The first node before `here` that keeps others out, or `here`: another client's, or of one of ours that holds.
view::const_iterator lock_queue::first_obstacle(view::const_iterator here, view::const_iterator until) const
{
    return std::find_if(view_.begin(), here, [&](const auto& known) {
        return known.second != 0 ? ours_.holds(known.second) : is_there(known, until);
    });
}

/// Behind an obstacle a contender of ours that waits is in the way, too, even of a kind that the obstacle lets in: a
/// reader waits for our writer, who waits for a reader of another client's.
bool lock_queue::excluded_before(view::const_iterator here, view::const_iterator until, contender_kind kind) const
{
    return std::any_of(first_obstacle(here, until), here, [&](const auto& known) {
        return excludes(known.first.kind, kind) && is_there(known, until);
    });
}

auto lock_queue::before(contender_id id, std::size_t most_counted) const -> those_before
{
    those_before found;
    const auto waiting = ours_.all().find(id);
    if (waiting == ours_.all().end())
        return found;
    const phase now = waiting->second.now;
    const bool has_place = now == phase::queued || now == phase::inspecting;
    const view::const_iterator here = has_place ? view::const_iterator(waiting->second.spot) : view_.end();
    const view::const_iterator until = has_place && waiting->second.covered ? here : known_until();
    if (const auto obstacle = first_obstacle(here, until); obstacle != here && obstacle == view_.begin())
        found.first = obstacle->first.node;
    found.excluded = excluded_before(here, until, waiting->second.kind);
    for (auto known = view_.begin(); known != here && found.count < most_counted; ++known)
        ++found.count;
    if (has_place)
        return found;
    for (auto other = ours_.all().begin(); other != waiting && found.count < most_counted; ++other) {
        const phase its = other->second.now;
        const bool wants_a_node = its == phase::wanted || its == phase::creating || its == phase::unknown;
        found.count += wants_a_node && !other->second.abandoned;
    }
    return found;
}

auto lock_queue::predecessor_of(contender_id id) const -> predecessor
{
    const auto waiting = ours_.all().find(id);
    if (waiting == ours_.all().end() || waiting->second.now != phase::queued || seeks_coverage())
        return {};
    const contender& c = waiting->second;
    const auto read = [&](const view::value_type& known) {
        const auto watch = watches_.find(known.first.node);
        return known.second == 0 && ours_.queued().begin()->id == id &&
               (watch == watches_.end() || watch->second == watch_state::arming);
    };
    for (auto known = view::const_iterator(c.spot); known != view_.begin();)
        if (excludes((--known)->first.kind, c.kind))
            return {known->first.node, read(*known)};
    return {};
}

void lock_queue::stop_lingering()
{
    if (ours_.lingering() != nullptr)
        start_leaving(*ours_.lingering(), true);
}

std::vector<contender_id> lock_queue::lapse()
{
    if (ours_.lingering() != nullptr)
        start_leaving(*ours_.lingering());
    std::vector<contender_id> lost = ours_.holders();
    for (contender_id id : lost)
        start_leaving(ours_.at(id));
    for (auto next = ours_.downgrading().begin(); next != ours_.downgrading().end();) {
        contender& c = *next++;
        if (c.abandoned)
            continue;
        leave(c, false);
        lost.push_back(c.id);
    }
    return lost;
}

// --- creates -------------------------------------------------------------------------------------------------------

contender_id lock_queue::next_to_create() const
{
    // Contenders whose create is looked for joined before, and keep their place before those who come later.
    const bool may_create = connected_ && ours_.unknown().empty() && !ours_.wanted().empty() &&
                            ours_.lingering() == nullptr && !holds_back();
    if (!may_create)
        return 0;
    // Where nodes are passed on, one is enough, and the next one queues while the last of the cohort holds.
    if (allowed_.cohort > 1 && ours_.with_node() != 0) {
        const bool last_of_cohort =
            ours_.with_node() == 1 && ours_.held().size() == 1 && ours_.held().begin()->cohort_left == 0;
        if (!last_of_cohort)
            return 0;
    }
    return ours_.wanted().begin()->id;
}

void lock_queue::create_sent(contender_id id, std::string_view prefix)
{
    contender& c = ours_.at(id);
    c.prefix = prefix;
    c.create_stamp = ++stamp_;
    move(c, phase::creating);
}

void lock_queue::create_sent_again(contender_id id)
{
    ours_.create_again(ours_.at(id), ++stamp_);
}

void lock_queue::created(contender_id id, std::string_view node, std::int32_t sequence, std::int64_t czxid)
{
    contender& c = ours_.at(id);
    c.czxid = czxid;
    const bool known_to_be_given = dense_ && sequence <= known_through_;
    const bool numbers_began_again = sequence >= 0 && (known_to_be_given || own_node_from(sequence));
    if (numbers_began_again) {
        dense_ = false;
        last_look_.reset();
        forget_view();
    }
    next_number_ = std::int64_t{static_cast<std::uint32_t>(sequence)} + 1;
    give_place(c, node, sequence);
    // No number follows the largest.
    const bool follows = sequence >= 0 && sequence - 1 - numbers_used_ == known_through_;
    const bool next_one = dense_ && follows;
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
        others_expected_ = false;
    else if (dense_)
        others_expected_ = true;
    if (c.abandoned)
        start_leaving(c);
    else
        move(c, phase::queued);
}

void lock_queue::token_known(contender_id id, unsigned further_grants, std::int64_t czxid)
{
    contender* const found = ours_.find(id);
    if (found == nullptr)
        return;
    contender& c = *found;
    c.token_known = true;
    if (czxid != 0)
        c.czxid = czxid;
    c.further_grants = further_grants;
    c.cohort_left = std::min(allowed_.cohort - 1, further_grants);
    if (last_look_)
        see_whether_alone(); // which may show that it is gone
}

void lock_queue::token_missed(contender_id id)
{
    if (contender* const c = ours_.find_in(phase::queued, id))
        move(*c, phase::inspecting);
}

/// Whether a node of ours is known with that number or a higher one. A parent's numbers only grow, and answers come in
/// order: so when a new node gets a lower one, others have deleted the parent and made it again.
bool lock_queue::own_node_from(std::int32_t sequence) const
{
    for (auto known = view_.lower_bound(place_name{sequence, {}}); known != view_.end(); ++known)
        if (known->second != 0 && !ours_.at(known->second).parent_gone)
            return true;
    return left_.lower_bound(place_name{sequence, {}}) != left_.end();
}

/// All nodes that were in the view are gone.
void lock_queue::forget_view()
{
    for (auto known = view_.begin(); known != view_.end();) {
        const auto gone = known++;
        if (gone->second == 0)
            view_.erase(gone);
        else if (contender& c = ours_.at(gone->second); c.now == phase::downgrading)
            c.parent_gone = true; // its answer is still due
        else
            own_node_gone(c);
    }
    while (!left_.empty())
        own_node_gone(left_.begin()->second);
    let_go_.clear();
    growth_stamp_ = 0;
}

void lock_queue::create_failed(contender_id id)
{
    create_failed(ours_.at(id));
}

void lock_queue::create_failed(contender& c)
{
    if (c.abandoned)
        forget(c, action::kind::gone);
    else
        want_again(c);
}

void lock_queue::create_unknown(contender_id id)
{
    move(ours_.at(id), phase::unknown);
}

// --- epochs and sessions ---------------------------------------------------------------------------------------------

void lock_queue::epoch_began()
{
    connected_ = true;
    to_remove_.clear();
    for (const auto& [id, c] : ours_.all())
        if (c.now == phase::leaving)
            to_remove_.push_back(id);
    look_after_holders_ = true;
    carried_over_stamp_ = goes_on_ ? ++stamp_ : 0;
}

void lock_queue::contact_lost()
{
    forget_parent();
    connected_ = false;
    just_listed_ = false;
}

void lock_queue::epoch_ended()
{
    contact_lost();
    connected_ = false;
    goes_on_ = true;
    stop_lingering(); // nobody would tell us who queues
    watches_.clear();
    reads_.clear();
    look_up_refused_ = false;
    emptying_ = emptying::unasked;
    awaited_.clear();
    lasting_.clear();
    if (next_number_ >= numbers_end)
        next_number_ = 0; // only a number of our own would tell that it has another parent meanwhile
    last_read_stamp_ = answered_stamp_ = 0;
    // A node that goes unseen in the meantime is found out when its watch is armed again.
}

void lock_queue::session_ended()
{
    for (auto next = ours_.all().begin(); next != ours_.all().end();) {
        contender& c = (next++)->second;
        const bool holds = c.now == phase::held || (c.now == phase::downgrading && !c.abandoned);
        if (holds)
            forget(c, action::kind::lost);
        else if (c.now == phase::leaving || c.now == phase::lingering || c.abandoned)
            forget(c, action::kind::gone);
        else if (c.now != phase::wanted)
            want_again(c);
    }
    view_.clear(); // the contenders' places are in them until here
    left_.clear();
    let_go_.clear();
    to_remove_.clear();
    doubt_stamp_ = growth_stamp_ = 0;
    goes_on_ = false;
}

} // namespace zklock::queue
