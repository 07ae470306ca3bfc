#include "queue/lock_queue.hpp"

#include "queue/mutants.hpp"
#include "queue/node_name.hpp"

#include <algorithm>
#include <utility>

namespace zklock::queue {

// --- contenders, as their callers wish -----------------------------------------------------------------------------

void lock_queue::join(contender_id id, bool look_once)
{
    contender& c = contenders_[id];
    c.look_once = look_once;
    wanted_.insert(id);
    ++contending_;
}

void lock_queue::leave(contender_id id)
{
    contender& c = at(id);
    if (ZKLOCK_MUTANT(cancelled_unknown_create_forgotten) && c.now == phase::unknown)
        return forget(id, action::kind::gone);
    switch (c.now) {
    case phase::wanted: forget(id, action::kind::gone); break;
    case phase::creating:
    case phase::unknown:
        if (!std::exchange(c.abandoned, true)) {
            --contending_;
            --with_node_;
        }
        break;
    case phase::inspecting:
    case phase::queued:
    case phase::held: start_leaving(id, c); break;
    case phase::leaving: break;
    }
}

void lock_queue::hold_on(contender_id id)
{
    at(id).holds_on = true;
}

std::vector<contender_id> lock_queue::lapse()
{
    const std::vector<contender_id> lost(held_.begin(), held_.end());
    for (contender_id id : lost) {
        start_leaving(id, at(id));
        if (ZKLOCK_MUTANT(lapsed_holder_keeps_its_node))
            to_remove_.pop_back();
    }
    return lost;
}

// --- creates -------------------------------------------------------------------------------------------------------

contender_id lock_queue::next_to_create() const
{
    // Who is looked for joined before, and is to keep its turn.
    const bool may_create = connected_ && unknown_.empty();
    return may_create && !wanted_.empty() ? *wanted_.begin() : 0;
}

void lock_queue::create_sent(contender_id id, std::string prefix)
{
    contender& c = at(id);
    c.prefix = std::move(prefix);
    c.create_turn = ++turn_;
    move(id, c, phase::creating);
}

void lock_queue::created(contender_id id, std::string_view node, std::int32_t sequence)
{
    contender& c = at(id);
    const bool numbers_began_again = sequence >= 0 && own_node_from(sequence);
    if (numbers_began_again)
        forget_view();
    give_place(id, c, node, sequence);
    if (c.abandoned && ZKLOCK_MUTANT(cancelled_create_not_deleted))
        return c.spot->second = 0, forget(id, action::kind::gone);
    if (c.abandoned)
        start_leaving(id, c);
    else
        move(id, c, phase::queued);
}

/// Whether a node of ours is known with that number or a higher one. A parent's numbers only grow, and answers come in
/// order: so when a new node gets a lower one, others have deleted the parent and made it again.
bool lock_queue::own_node_from(std::int32_t sequence) const
{
    for (auto known = view_.lower_bound({sequence, {}}); known != view_.end(); ++known)
        if (known->second != 0)
            return true;
    return left_.lower_bound({sequence, {}}) != left_.end();
}

/// All that was in it is gone.
void lock_queue::forget_view()
{
    for (auto known = view_.begin(); known != view_.end();) {
        const auto gone = known++;
        if (gone->second != 0)
            own_node_gone(gone->second);
        else
            view_.erase(gone);
    }
    while (!left_.empty())
        own_node_gone(left_.begin()->second);
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

// --- answers and events --------------------------------------------------------------------------------------------

void lock_queue::children_read(const std::vector<std::string>& names, bool synced)
{
    const sent_read sent = reads_.front();
    reads_.pop_front();
    answered_turn_ = sent.turn;
    update_view(names);
    if (!unknown_.empty())
        look_up_unknown(names, sent.looks_up && (synced || ZKLOCK_MUTANT(look_up_without_sync)));
}

void lock_queue::read_failed()
{
    if (reads_.front().turn == last_read_turn_)
        last_read_turn_ = answered_turn_; // so that it is asked for again
    reads_.pop_front();
}

void lock_queue::read_refused()
{
    look_up_refused_ = reads_.front().looks_up || look_up_refused_;
    read_failed();
}

void lock_queue::look_up_again()
{
    look_up_refused_ = false;
}

/// Makes the view what the server listed. Answers come in the order of their requests, so a node of ours that is in the
/// view but not in the list has been deleted.
void lock_queue::update_view(const std::vector<std::string>& names)
{
    std::vector<place> listed;
    listed.reserve(names.size());
    for (const std::string& name : names)
        if (const auto sequence = sequence_of(name))
            listed.push_back({*sequence, name});
    std::sort(listed.begin(), listed.end());

    std::vector<contender_id> missing;
    for (const auto& [node, id] : left_)
        if (!std::binary_search(listed.begin(), listed.end(), node))
            missing.push_back(id);
    auto known = view_.begin();
    for (place& live : listed) {
        while (known != view_.end() && known->first < live) {
            if (known->second != 0)
                missing.push_back((known++)->second);
            else
                known = view_.erase(known);
        }
        if (known != view_.end() && known->first == live) {
            if (known->second != 0)
                at(known->second).covered = true;
            ++known;
        } else if (!left_.contains(live)) {
            view_.emplace_hint(known, std::move(live), 0);
        }
    }
    while (known != view_.end()) {
        if (known->second != 0)
            missing.push_back((known++)->second);
        else
            known = view_.erase(known);
    }
    for (contender_id id : missing)
        own_node_gone(id);
}

/// Finds the nodes of creates whose answer was lost. Only a complete list shows that there is none.
void lock_queue::look_up_unknown(const std::vector<std::string>& names, bool complete)
{
    std::unordered_map<std::string_view, contender_id> prefixes;
    for (contender_id id : unknown_)
        prefixes.emplace(at(id).prefix, id);
    for (const std::string& name : names) {
        const auto sequence = sequence_of(name);
        if (!sequence)
            continue;
        const auto hit = prefixes.find(prefix_of(name, *sequence));
        if (hit == prefixes.end())
            continue;
        const contender_id id = hit->second;
        prefixes.erase(hit);
        contender& c = at(id);
        give_place(id, c, name, *sequence);
        c.covered = true;
        if (c.abandoned)
            start_leaving(id, c);
        else
            move(id, c, phase::inspecting);
    }
    if (!complete)
        return;
    for (const contender_id id : std::set(unknown_))
        create_failed(id);
}

void lock_queue::inspected(contender_id id, std::string_view node, bool ours)
{
    const auto found = contenders_.find(id);
    if (found == contenders_.end() || found->second.now != phase::inspecting || node_of(found->second) != node)
        return;
    contender& c = found->second;
    watched(node);
    if (ours) {
        move(id, c, phase::queued);
    } else {
        c.spot->second = 0;
        watched_others_.insert(node_of(c));
        want_again(id, c);
    }
}

void lock_queue::inspect_unknown(contender_id id)
{
    const auto found = contenders_.find(id);
    if (found == contenders_.end() || found->second.now != phase::inspecting)
        return;
    contender& c = found->second;
    c.prefix = prefix_of(node_of(c), c.spot->first.sequence);
    if (ZKLOCK_MUTANT(inspected_node_forgotten)) {
        watches_.erase(node_of(c));
        view_.erase(c.spot);
        return move(id, c, phase::unknown);
    }
    c.spot->second = 0; // it counts, for those behind it, until it is known whose it is
    move(id, c, phase::unknown);
}

void lock_queue::watched(std::string_view node)
{
    const auto watch = watches_.find(std::string(node));
    if (watch != watches_.end() && watch->second == watch_state::arming)
        watch->second = watch_state::armed;
}

void lock_queue::watch_failed(std::string_view node)
{
    watches_.erase(std::string(node));
}

void lock_queue::unwatched(std::string_view node)
{
    const auto watch = watches_.find(std::string(node));
    if (watch != watches_.end() && watch->second == watch_state::disarming)
        watches_.erase(watch);
}

void lock_queue::watch_fired(std::string_view node)
{
    if (ZKLOCK_MUTANT(used_up_watch_not_armed_again))
        return;
    watches_.erase(std::string(node));
}

void lock_queue::node_gone(std::string_view node)
{
    watches_.erase(std::string(node));
    const auto sequence = sequence_of(node);
    if (!sequence)
        return;
    const place where{*sequence, std::string(node)};
    if (const auto left = left_.find(where); left != left_.end())
        return own_node_gone(left->second);
    const auto gone = view_.find(where);
    if (gone == view_.end())
        return;
    if (gone->second != 0) {
        own_node_gone(gone->second);
        // Whoever deletes one of ours may have deleted more: the next is to look at its own before it is granted.
        if (!queued_.empty())
            at(queued_.begin()->second).waited_for_another = true;
        return;
    }
    view_.erase(gone);
    // The nodes before it went unwatched: they may be gone too.
    doubt_turn_ = ++turn_;
}

void lock_queue::removed(contender_id id)
{
    own_node_gone(id);
}

void lock_queue::remove_failed(contender_id id)
{
    if (const auto c = contenders_.find(id); c != contenders_.end())
        c->second.removing = false;
}

void lock_queue::retry_remove(contender_id id)
{
    const auto c = contenders_.find(id);
    if (connected_ && c != contenders_.end() && c->second.now == phase::leaving && !c->second.removing)
        to_remove_.push_back(id);
}

void lock_queue::epoch_began()
{
    connected_ = true;
    to_remove_.clear();
    for (const auto& [id, c] : contenders_)
        if (c.now == phase::leaving && !ZKLOCK_MUTANT(delete_not_retried))
            to_remove_.push_back(id);
}

void lock_queue::contact_lost()
{
    connected_ = ZKLOCK_MUTANT(requests_after_a_lost_answer);
}

void lock_queue::epoch_ended()
{
    connected_ = false;
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
        if (c.now == phase::held)
            forget(id, action::kind::lost);
        else if (c.now == phase::leaving || c.abandoned)
            forget(id, action::kind::gone);
        else if (c.now != phase::wanted)
            want_again(id, c);
    }
    view_.clear(); // the contenders' places are in them until here
    left_.clear();
    to_remove_.clear();
    doubt_turn_ = 0;
}

// --- changes of state ----------------------------------------------------------------------------------------------

/// Takes the contender out of its phase's index and puts it into the next one's.
void lock_queue::move(contender_id id, contender& c, phase to)
{
    const auto has_node = [](phase p) { return p != phase::wanted && p != phase::leaving; };
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
    case phase::leaving: break;
    }
    if (counted) {
        with_node_ -= has_node(c.now);
        with_node_ += has_node(to);
        contending_ -= to == phase::leaving;
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
    c.covered = c.waited_for_another = c.holds_on = c.removing = false;
}

void lock_queue::start_leaving(contender_id id, contender& c)
{
    move(id, c, phase::leaving);
    c.spot = left_.insert(view_.extract(c.spot)).position;
}

void lock_queue::give_place(contender_id id, contender& c, std::string_view node, std::int32_t sequence)
{
    c.spot = view_.insert_or_assign({sequence, std::string(node)}, id).first;
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
    const view::iterator place = c.spot; // the contender's phase is left by way of it
    view& of_it = c.now == phase::leaving ? left_ : view_;
    switch (c.now) {
    case phase::held: forget(id, action::kind::lost); break;
    case phase::leaving: forget(id, action::kind::gone); break;
    default: want_again(id, c);
    }
    watches_.erase(place->first.node);
    of_it.erase(place);
}

} // namespace zklock::queue
