#include "queue/known_queue.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_map>

namespace zklock::queue {

// --- contenders of ours ----------------------------------------------------------------------------------------------

void known_queue::move(contender& c, phase to)
{
    if (to == phase::inspecting)
        to_inspect_.push_back(c.id);
    else if (to == phase::leaving)
        to_remove_.push_back(c.id);
    own_.put(c, to);
}

void known_queue::forget(contender& c, action::kind news)
{
    news_.push_back({news, c.id, {}});
    const bool by_others = news == action::kind::vanished && !c.removing;
    if ((news == action::kind::lost && c.now != phase::leaving) || by_others)
        news_.back().node = node_of(c);
    own_.forget(c);
}

/// Its node never came to be, or is gone without its wish: it queues again, at the tail.
void known_queue::want_again(contender& c)
{
    move(c, phase::wanted);
    c.prefix.clear();
    c.covered = c.waited_for_another = c.holds_on = c.removing = c.revoked = c.token_known = false;
}

void known_queue::start_leaving(contender& c, bool by_own_will)
{
    move(c, phase::leaving);
    c.left_by_own_will = by_own_will;
    places_.leave(c);
}

void known_queue::create_failed(contender& c)
{
    if (c.abandoned)
        forget(c, action::kind::gone);
    else
        want_again(c);
}

void known_queue::created(contender& c, std::string_view node, std::int32_t sequence)
{
    const bool numbers_began_again = sequence >= 0 && (parent_.knows(sequence) || own_node_from(sequence));
    if (numbers_began_again) {
        parent_.made_again();
        forget_places();
    }
    places_.give(c, node, sequence);
    if (parent_.gave(sequence, connected_))
        c.covered = true;
    if (c.covered)
        others_expected_ = false;
    else if (parent_.is_dense())
        others_expected_ = true;
    if (c.abandoned)
        start_leaving(c);
    else
        move(c, phase::queued);
}

void known_queue::own_node_gone(contender_id id)
{
    if (contender* const c = own_.find(id))
        own_node_gone(*c);
}

void known_queue::own_node_gone(contender& c)
{
    if (c.now == phase::downgrading)
        return;                          // by others, or by its own transaction: whose answer will tell
    const view::iterator place = c.spot; // the contender's phase is left by way of it
    const bool left = c.now == phase::leaving;
    switch (c.now) {
    case phase::held: forget(c, action::kind::lost); break;
    case phase::lingering:
    case phase::leaving: forget(c, action::kind::vanished); break;
    default: want_again(c);
    }
    watches_.forget(place->first.node);
    places_.gone(place, left);
}

void known_queue::suspect_others()
{
    if (!own_.queued().empty())
        own_.first_queued().waited_for_another = true;
}

// --- what the server tells -------------------------------------------------------------------------------------------

void known_queue::listed(const std::vector<std::string>& names, std::int32_t ever, bool looks_up)
{
    parent_.forget_look();
    update_view(names);
    parent_.note_ever(ever);
    const view& live = places_.live();
    others_expected_ = std::any_of(live.begin(), live.end(), [](const auto& known) { return known.second == 0; });
    parent_.know_through(ever, connected_);
    if (!own_.unknown().empty())
        look_up_unknown(names, looks_up);
}

/// Makes the view what the server listed. Answers come in the order of their requests, so a node of ours that is in the
/// view but not in the list has been deleted.
void known_queue::update_view(const std::vector<std::string>& names)
{
    std::vector<place> listed;
    listed.reserve(names.size());
    for (const std::string& name : names)
        if (const auto parsed = places_.names().parse(name))
            listed.push_back({parsed->sequence, name, parsed->kind});
    strangers_ = listed.size() != names.size();
    std::sort(listed.begin(), listed.end());
    // A downgrade under way may have made its reader's node. Its answer will tell; until then the writer stands for it.
    for (const contender& c : own_.downgrading())
        std::erase_if(listed, [reader = reader_name(node_of(c))](const place& p) { return p.node == reader; });

    std::erase_if(places_.let_go(), [&listed](const auto& known) {
        return !std::binary_search(listed.begin(), listed.end(), known.first);
    });
    std::vector<contender_id> missing;
    for (const auto& [node, id] : places_.left())
        if (!std::binary_search(listed.begin(), listed.end(), node))
            missing.push_back(id);
    view& live = places_.live();
    auto known = live.begin();
    const auto miss_known = [&] {
        if (known->second != 0)
            missing.push_back((known++)->second);
        else
            known = live.erase(known);
    };
    for (place& there : listed) {
        while (known != live.end() && known->first < there)
            miss_known();
        if (known != live.end() && known->first == there) {
            if (known->second != 0)
                own_.at(known->second).covered = true;
            ++known;
        } else if (!places_.counts_no_more(there.name())) {
            live.emplace_hint(known, std::move(there), 0);
        }
    }
    while (known != live.end())
        miss_known();
    miss(missing);
}

void known_queue::miss(const std::vector<contender_id>& missing)
{
    for (const contender_id id : missing) {
        shown_.missed.push_back(own_.node(id));
        own_node_gone(id);
    }
}

/// Finds the nodes of creates whose answer was lost. Only a complete list shows that there is none.
void known_queue::look_up_unknown(const std::vector<std::string>& names, bool complete)
{
    std::unordered_map<std::string_view, contender*> prefixes;
    for (contender& c : own_.unknown())
        prefixes.emplace(c.prefix, &c);
    for (const std::string& name : names) {
        const auto sequence = places_.names().sequence_of(name);
        if (!sequence)
            continue;
        const auto hit = prefixes.find(prefix_of(name, *sequence));
        if (hit == prefixes.end())
            continue;
        contender& c = *hit->second;
        prefixes.erase(hit);
        places_.give(c, name, *sequence);
        shown_.found.push_back(name);
        c.covered = true;
        if (c.abandoned)
            start_leaving(c);
        else
            move(c, phase::inspecting);
    }
    if (!complete)
        return;
    while (!own_.unknown().empty()) {
        contender& c = *own_.unknown().begin();
        news_.push_back({action::kind::not_found, c.id, c.prefix});
        create_failed(c);
    }
}

void known_queue::see_whether_alone()
{
    if (!parent_.last_look())
        return;
    const auto [children, ever, changed_by] = *parent_.last_look();
    // Is the only child ours? It is, if nothing has come or gone since ours was created: the number alone could as well
    // mean a foreign one, while others have deleted ours.
    const auto ours = [this, ever = ever, changed_by = changed_by](const view& where) {
        const auto youngest = where.lower_bound(place_name{ever - 1, {}});
        if (youngest == where.end() || youngest->first.sequence != ever - 1 || youngest->second == 0)
            return false;
        return own_.at(youngest->second).czxid == changed_by;
    };
    const bool alone = children == 1 && (ours(places_.live()) || ours(places_.left()));
    if (children == 0 || alone) {
        parent_.forget_look();
        only_ours_remain(alone, ever);
    }
}

/// At the last look the parent had no child, or none but the youngest it ever had, which is ours.
void known_queue::only_ours_remain(bool the_youngest, std::int32_t ever)
{
    std::vector<contender_id> missing;
    for (const auto& [node, id] : places_.left())
        if (node.sequence < ever - (the_youngest ? 1 : 0))
            missing.push_back(id);
    view& live = places_.live();
    for (auto known = live.begin(); known != live.end();) {
        const auto here = known++;
        if (here->second == 0)
            live.erase(here); // whatever its number: it may be of an earlier parent
        else if (here->first.sequence >= ever)
            continue; // it came after the look
        else if (!the_youngest || here->first.sequence != ever - 1)
            missing.push_back(here->second);
        else
            own_.at(here->second).covered = true;
    }
    miss(missing);
    places_.let_go().clear();
    others_expected_ = false;
    reads_.nothing_has_grown();
    parent_.know_through(ever, connected_);
}

/// Whether a node of ours is known with that number or a higher one. A parent's numbers only grow, and answers come in
/// order: so when a new node gets a lower one, others have deleted the parent and made it again.
bool known_queue::own_node_from(std::int32_t sequence) const
{
    const view& live = places_.live();
    for (auto known = live.lower_bound(place_name{sequence, {}}); known != live.end(); ++known)
        if (known->second != 0 && !own_.at(known->second).parent_gone)
            return true;
    return places_.left().lower_bound(place_name{sequence, {}}) != places_.left().end();
}

void known_queue::orphan(contender_id id)
{
    shown_.orphaned.push_back(own_.node(id));
    own_node_gone(id);
}

void known_queue::forget_places()
{
    view& live = places_.live();
    for (auto known = live.begin(); known != live.end();) {
        const auto gone = known++;
        if (gone->second == 0)
            live.erase(gone);
        else if (contender& c = own_.at(gone->second); c.now == phase::downgrading)
            c.parent_gone = true; // its answer is still due
        else
            orphan(c.id);
    }
    while (!places_.left().empty())
        orphan(places_.left().begin()->second);
    places_.let_go().clear();
    reads_.nothing_has_grown();
}

void known_queue::node_gone(std::string_view node)
{
    watches_.forget(node);
    const auto sequence = places_.names().sequence_of(node);
    if (!sequence)
        return;
    const place_name where{*sequence, node};
    if (const auto left = places_.left().find(where); left != places_.left().end())
        return own_node_gone(left->second);
    const auto gone = places_.live().find(where);
    if (gone == places_.live().end()) {
        view& let_go = places_.let_go();
        if (const auto found = let_go.find(where); found != let_go.end())
            let_go.erase(found);
        return;
    }
    if (gone->second != 0) {
        if (own_.find_in(phase::downgrading, gone->second) != nullptr)
            return; // most likely by its own transaction
        own_node_gone(gone->second);
        return suspect_others();
    }
    const contender_kind its = gone->first.kind;
    places_.live().erase(gone);
    may_have_read_on(its);
    doubt_unwatched_before(where);
}

bool known_queue::certified(std::string_view node)
{
    const auto sequence = places_.names().sequence_of(node);
    if (!sequence)
        return false;
    const place_name where{*sequence, node};
    view& live = places_.live();
    const auto found = live.find(where);
    if (found == live.end() || found->first.sequence != *sequence || found->second != 0)
        return false;
    const contender_kind its = found->first.kind;
    places_.let_go_of(found);
    may_have_read_on(its);
    if (!reads_.just_listed())
        doubt_unwatched_before(where);
    return true;
}

/// A node of another client, and of that kind, counts no more: a writer may read on with one that was not seen yet.
void known_queue::may_have_read_on(contender_kind its)
{
    if (its == contender_kind::writer)
        reads_.doubt_growth();
}

/// With a node of another client that has stood there: those before it that went unwatched.
void known_queue::doubt_unwatched_before(const place_name& where)
{
    const contender_kind kind = own_.queued().empty() ? contender_kind::mutex : own_.queued().begin()->kind;
    const auto unwatched = [this, kind](const auto& known) {
        return known.second == 0 && excludes(known.first.kind, kind) && !watches_.is_watched(known.first.node);
    };
    const view& live = places_.live();
    if (std::any_of(live.begin(), live.lower_bound(where), unwatched))
        reads_.doubt();
}

// --- epochs and sessions ---------------------------------------------------------------------------------------------

void known_queue::epoch_began()
{
    connected_ = true;
    to_remove_.clear();
    for (const auto& [id, c] : own_.all())
        if (c.now == phase::leaving)
            to_remove_.push_back(id);
    watches_.look_after_holders();
    reads_.epoch_began();
}

void known_queue::contact_lost()
{
    parent_.forget();
    connected_ = false;
    reads_.contact_lost();
}

void known_queue::epoch_ended()
{
    connected_ = false;
    if (own_.lingering() != nullptr)
        start_leaving(*own_.lingering(), true); // nobody would tell us who queues
    watches_.epoch_ended();
    reads_.epoch_ended();
    parent_.epoch_ended();
    // A node that goes unseen in the meantime is found out when its watch is armed again.
}

void known_queue::session_ended()
{
    for (auto next = own_.all().begin(); next != own_.all().end();) {
        contender& c = (next++)->second;
        const bool holds = c.now == phase::held || (c.now == phase::downgrading && !c.abandoned);
        if (holds)
            forget(c, action::kind::lost);
        else if (c.now == phase::leaving || c.now == phase::lingering || c.abandoned)
            forget(c, action::kind::gone);
        else if (c.now != phase::wanted)
            want_again(c);
    }
    places_.clear(); // the contenders' places are in them until here
    to_remove_.clear();
    reads_.session_ended();
}

// --- what follows from it --------------------------------------------------------------------------------------------

contender_id known_queue::contender_of(std::string_view node) const
{
    const auto found = places_.find(node);
    return found == places_.live().end() ? 0 : found->second;
}

bool known_queue::owns(std::string_view node) const
{
    const place_name where = places_.name_of(node);
    const auto made_it = [prefix = prefix_of(node, where.sequence)](const contender& c) { return c.prefix == prefix; };
    const auto reads_on = [node](const contender& c) { return reader_name(node_of(c)) == node; };
    return contender_of(node) != 0 || places_.left().contains(where) ||
           std::any_of(own_.unknown().begin(), own_.unknown().end(), made_it) ||
           std::any_of(own_.downgrading().begin(), own_.downgrading().end(), reads_on);
}

bool known_queue::misses_any(const std::set<std::string_view>& names) const
{
    return std::any_of(places_.live().begin(), places_.live().end(), [&](const auto& known) {
        const auto& [where, id] = known;
        return id != 0 && own_.at(id).now != phase::downgrading && !names.contains(where.node);
    });
}

bool known_queue::waits_behind(std::string_view node) const
{
    if (own_.queued().empty())
        return false;
    const auto known = places_.find(node);
    return known != places_.live().end() && known->second == 0 && known->first < own_.queued().last().spot->first;
}

std::vector<std::string> known_queue::others_before_ours(std::size_t most) const
{
    std::vector<std::string> found;
    if (own_.queued().empty())
        return found;
    const view& live = places_.live();
    const view::const_iterator first = own_.queued().begin()->spot;
    for (auto known = std::make_reverse_iterator(first); known != live.rend() && found.size() < most; ++known)
        if (known->second == 0)
            found.push_back(known->first.node);
    return found;
}

bool known_queue::busy(const std::vector<std::string>& names, contender_kind kind) const
{
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        const auto parsed = places_.names().parse(name);
        return parsed && excludes(parsed->kind, kind) && !places_.counts_no_more({parsed->sequence, name});
    });
}

} // namespace zklock::queue
