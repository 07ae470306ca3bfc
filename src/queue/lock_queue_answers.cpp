// What the server tells: the second part of lock_queue.
#include "queue/lock_queue.hpp"

#include "queue/node_name.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace zklock::queue {

void lock_queue::children_read(const std::vector<std::string>& names, std::int32_t ever, bool synced)
{
    const sent_read sent = reads_.front();
    reads_.pop_front();
    if (sent.watches)
        children_ = watch_state::armed;
    last_look_.reset();
    update_view(names);
    answered_stamp_ = sent.stamp;
    just_listed_ = true;
    note_ever(ever);
    others_expected_ = std::any_of(view_.begin(), view_.end(), [](const auto& known) { return known.second == 0; });
    disturbed_ = disturbed_ || others_expected_;
    know_through(ever);
    if (!ours_.unknown().empty())
        look_up_unknown(names, sent.looks_up && synced);
}

void lock_queue::read_failed()
{
    if (reads_.front().watches)
        children_ = watch_state::off;
    if (reads_.front().stamp == last_read_stamp_)
        last_read_stamp_ = answered_stamp_; // so that it is asked for again
    reads_.pop_front();
}

void lock_queue::read_refused()
{
    disturbed_ = disturbed_ || reads_.front().watches; // nobody would tell us who queues
    look_up_refused_ = reads_.front().looks_up || look_up_refused_;
    read_failed();
}

void lock_queue::look_up_again()
{
    look_up_refused_ = false;
}

/// The view is complete, and the parent has had that many children.
void lock_queue::know_through(std::int32_t ever)
{
    const bool parent_known = parent_ == watch_state::armed;
    if (!parent_known || !connected_)
        return;
    dense_ = true;
    known_through_ = ever - 1;
    numbers_used_ = 0;
}

void lock_queue::parent_watched(std::int32_t children, std::int32_t ever, std::int64_t changed_by)
{
    parent_ = watch_state::armed; // also when an earlier answer said that there was none yet
    note_ever(ever);
    last_look_ = {children, ever, changed_by};
    see_whether_alone();
}

/// Whether only nodes of ours are there, by the last look at the parent, as soon as that can be said.
void lock_queue::see_whether_alone()
{
    const auto [children, ever, changed_by] = *last_look_;
    // Is the only child ours? It is, if nothing has come or gone since ours was created: the number alone could as well
    // mean a foreign one, while others have deleted ours.
    const auto ours = [this, ever = ever, changed_by = changed_by](const view& where) {
        const auto youngest = where.lower_bound(place_name{ever - 1, {}});
        if (youngest == where.end() || youngest->first.sequence != ever - 1 || youngest->second == 0)
            return false;
        return ours_.at(youngest->second).czxid == changed_by;
    };
    const bool alone = children == 1 && (ours(view_) || ours(left_));
    if (children == 0 || alone) {
        last_look_.reset();
        only_ours_remain(alone, ever);
    }
}

/// At the last look the parent had no child, or none but the youngest it ever had, which is ours.
void lock_queue::only_ours_remain(bool the_youngest, std::int32_t ever)
{
    std::vector<contender_id> missing;
    for (const auto& [node, id] : left_)
        if (node.sequence < ever - (the_youngest ? 1 : 0))
            missing.push_back(id);
    for (auto known = view_.begin(); known != view_.end();) {
        const auto here = known++;
        if (here->second == 0)
            view_.erase(here); // whatever its number: it may be of an earlier parent
        else if (here->first.sequence >= ever)
            continue; // it came after the look
        else if (!the_youngest || here->first.sequence != ever - 1)
            missing.push_back(here->second);
        else
            ours_.at(here->second).covered = true;
    }
    for (contender_id id : missing)
        own_node_gone(id);
    let_go_.clear();
    others_expected_ = false;
    growth_stamp_ = 0;
    know_through(ever);
}

void lock_queue::parent_absent()
{
    numbers_begin_again();
    forget_parent();
    forget_view();
}

void lock_queue::parent_watch_failed()
{
    if (parent_ == watch_state::arming)
        parent_ = watch_state::off;
}

void lock_queue::parent_deleted()
{
    numbers_begin_again();
    forget_parent();
    forget_view(); // nobody can delete a node that has children
}

void lock_queue::parent_changed()
{
    // A client that sets the data may delete the node next and make it again, and no watch would tell.
    parent_ = watch_state::off;
    last_look_.reset();
    dense_ = false;
}

void lock_queue::children_changed()
{
    children_ = watch_state::off;
    disturbed_ = true;
}

void lock_queue::path_refused()
{
    refused_watch_ = watches_parent();
    for (watch_state* const watch : {&parent_, &children_})
        if (*watch == watch_state::armed) // an answer that is still due comes after the refusal
            *watch = watch_state::off;
    last_look_.reset();
    disturbed_ = true; // nobody would have told us who queues
    dense_ = false;
}

void lock_queue::forget_parent()
{
    last_look_.reset();
    parent_ = children_ = watch_state::off;
    refused_watch_ = false;
    dense_ = false;
}

/// Makes the view what the server listed. Answers come in the order of their requests, so a node of ours that is in the
/// view but not in the list has been deleted.
void lock_queue::update_view(const std::vector<std::string>& names)
{
    std::vector<place> listed;
    listed.reserve(names.size());
    for (const std::string& name : names)
        if (const auto parsed = names_.parse(name))
            listed.push_back({parsed->sequence, name, parsed->kind});
    strangers_ = listed.size() != names.size();
    std::sort(listed.begin(), listed.end());
    // A downgrade under way may have made its reader's node. Its answer will tell; until then the writer stands for it.
    for (const contender& c : ours_.downgrading())
        std::erase_if(listed, [reader = reader_name(node_of(c))](const place& p) { return p.node == reader; });

    std::erase_if(let_go_, [&listed](const auto& known) {
        return !std::binary_search(listed.begin(), listed.end(), known.first);
    });
    const auto counts_no_more = [this](const place& live) {
        return left_.contains(live) || let_go_.contains(live);
    };
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
                ours_.at(known->second).covered = true;
            ++known;
        } else if (!counts_no_more(live)) {
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
    std::unordered_map<std::string_view, contender*> prefixes;
    for (contender& c : ours_.unknown())
        prefixes.emplace(c.prefix, &c);
    for (const std::string& name : names) {
        const auto sequence = names_.sequence_of(name);
        if (!sequence)
            continue;
        const auto hit = prefixes.find(prefix_of(name, *sequence));
        if (hit == prefixes.end())
            continue;
        contender& c = *hit->second;
        prefixes.erase(hit);
        give_place(c, name, *sequence);
        c.covered = true;
        if (c.abandoned)
            start_leaving(c);
        else
            move(c, phase::inspecting);
    }
    if (!complete)
        return;
    while (!ours_.unknown().empty()) {
        contender& c = *ours_.unknown().begin();
        news_.push_back({action::kind::not_found, c.id, c.prefix});
        create_failed(c);
    }
}

void lock_queue::inspected(contender_id id, std::string_view node, bool ours)
{
    contender* const c = ours_.find_in(phase::inspecting, id);
    if (c == nullptr || node_of(*c) != node)
        return;
    watched(node);
    if (ours) {
        move(*c, phase::queued);
    } else {
        watched_others_.insert(node_of(*c));
        c->spot->second = 0;
        want_again(*c);
    }
}

void lock_queue::inspect_unknown(contender_id id)
{
    contender* const c = ours_.find_in(phase::inspecting, id);
    if (c == nullptr)
        return;
    c->prefix = prefix_of(node_of(*c), c->spot->first.sequence);
    c->spot->second = 0; // it counts, for those behind it, until it is known whose it is
    move(*c, phase::unknown);
}

void lock_queue::watched(std::string_view node, bool lasting)
{
    const auto watch = watches_.find(node);
    if (watch != watches_.end() && watch->second == watch_state::arming)
        watch->second = watch_state::armed;
    if (lasting)
        lasting_.emplace(node);
}

void lock_queue::watch_failed(std::string_view node)
{
    forget_watch(node);
    look_after_holders_ = true;
}

void lock_queue::unwatched(std::string_view node)
{
    const auto watch = watches_.find(node);
    if (watch != watches_.end() && watch->second == watch_state::disarming)
        watches_.erase(watch);
    look_after_holders_ = true;
}

void lock_queue::watch_fired(std::string_view node)
{
    forget_watch(node);
    look_after_holders_ = true;
}

void lock_queue::node_gone(std::string_view node)
{
    forget_watch(node);
    const auto sequence = names_.sequence_of(node);
    if (!sequence)
        return;
    const place_name where{*sequence, node};
    if (const auto left = left_.find(where); left != left_.end())
        return own_node_gone(left->second);
    const auto gone = view_.find(where);
    if (gone == view_.end()) {
        if (const auto let_go = let_go_.find(where); let_go != let_go_.end())
            let_go_.erase(let_go);
        return;
    }
    if (gone->second != 0) {
        if (ours_.find_in(phase::downgrading, gone->second) != nullptr)
            return; // most likely by its own transaction
        own_node_gone(gone->second);
        return suspect_others();
    }
    const contender_kind its = gone->first.kind;
    view_.erase(gone);
    may_have_read_on(its);
    doubt_unwatched_before(where);
}

/// A node of another client, and of that kind, counts no more: a writer may read on with one that was not seen yet.
void lock_queue::may_have_read_on(contender_kind its)
{
    if (its == contender_kind::writer)
        doubt_stamp_ = growth_stamp_ = ++stamp_;
}

/// With a node of another client that has stood there: those before it that went unwatched.
void lock_queue::doubt_unwatched_before(const place_name& where)
{
    const contender_kind kind = ours_.queued().empty() ? contender_kind::mutex : ours_.first_queued().kind;
    const auto unwatched = [this, kind](const auto& known) {
        return known.second == 0 && excludes(known.first.kind, kind) && !is_watched(known.first.node);
    };
    if (std::any_of(view_.begin(), view_.lower_bound(where), unwatched))
        doubt_stamp_ = ++stamp_;
}

/// Others have deleted one of our nodes, and may have deleted more: the next is to look at its own before it is
/// granted.
void lock_queue::suspect_others()
{
    if (!ours_.queued().empty())
        ours_.first_queued().waited_for_another = true;
}

void lock_queue::removed(contender_id id, bool was_there)
{
    contender* const c = ours_.find(id);
    if (c == nullptr)
        return;
    c->removing = was_there;
    own_node_gone(*c);
}

void lock_queue::remove_failed(contender_id id)
{
    if (contender* const c = ours_.find(id))
        c->removing = false;
}

void lock_queue::retry_remove(contender_id id)
{
    const contender* const c = ours_.find_in(phase::leaving, id);
    if (connected_ && c != nullptr && !c->removing)
        to_remove_.push_back(id);
}

} // namespace zklock::queue
