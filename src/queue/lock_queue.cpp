#include "queue/lock_queue.hpp"

#include "queue/decisions.hpp"

namespace zklock::queue {

// --- contenders, as their callers wish -----------------------------------------------------------------------------

void lock_queue::join(contender_id id, bool look_once, contender_kind kind)
{
    known_.own().add(id, look_once, kind);
}

void lock_queue::leave(contender_id id, bool by_own_will)
{
    contender& c = at(id);
    switch (c.now) {
    case phase::wanted: known_.forget(c, action::kind::gone); break;
    case phase::creating:
    case phase::unknown: known_.own().abandon(c); break;
    case phase::downgrading:
        if (c.into_reader == downgrade_state::unsent)
            known_.start_leaving(c);
        else
            known_.own().abandon(c);
        break;
    case phase::inspecting: known_.start_leaving(c); break;
    case phase::queued:
    case phase::lingering: known_.start_leaving(c, by_own_will); break;
    case phase::held:
        if (reuse_.may_stay(known_, c))
            known_.move(c, phase::lingering);
        else
            known_.start_leaving(c, by_own_will);
        break;
    case phase::leaving: break;
    }
}

void lock_queue::hold_on(contender_id id)
{
    if (!std::exchange(at(id).holds_on, true))
        known_.watches().look_after_holders();
}

void lock_queue::revoke(contender_id id)
{
    contender& c = at(id);
    c.revoked = true;
    if (c.now == phase::lingering)
        known_.start_leaving(c, true);
}

void lock_queue::downgrade(contender_id id)
{
    contender& c = at(id);
    if (c.now == phase::held && c.kind == contender_kind::writer)
        known_.move(c, phase::downgrading);
}

void lock_queue::stop_lingering()
{
    if (own().lingering() != nullptr)
        known_.start_leaving(*own().lingering(), true);
}

std::vector<contender_id> lock_queue::lapse()
{
    if (own().lingering() != nullptr)
        known_.start_leaving(*own().lingering());
    std::vector<contender_id> lost = own().holders();
    for (contender_id id : lost)
        known_.start_leaving(at(id));
    auto& downgrading = known_.own().downgrading();
    for (auto next = downgrading.begin(); next != downgrading.end();) {
        contender& c = *next++;
        if (c.abandoned)
            continue;
        leave(c.id, false);
        lost.push_back(c.id);
    }
    return lost;
}

// --- creates -------------------------------------------------------------------------------------------------------

contender_id lock_queue::next_to_create() const
{
    // Contenders whose create is looked for joined before, and keep their place before those who come later.
    const bool may_create = known_.connected() && own().unknown().empty() && !own().wanted().empty() &&
                            own().lingering() == nullptr && !emptying_.holds_back(known_.parent());
    if (!may_create || reuse_.spares_a_node(own()))
        return 0;
    return own().wanted().begin()->id;
}

void lock_queue::create_sent(contender_id id, std::string_view prefix)
{
    contender& c = at(id);
    c.prefix = prefix;
    c.create_stamp = known_.reads().next_stamp();
    known_.move(c, phase::creating);
}

void lock_queue::created(contender_id id, std::string_view node, std::int32_t sequence, std::int64_t czxid)
{
    contender& c = at(id);
    c.czxid = czxid;
    known_.created(c, node, sequence);
}

void lock_queue::token_known(contender_id id, unsigned further_grants, std::int64_t czxid)
{
    contender* const c = known_.own().find(id);
    if (c == nullptr)
        return;
    c->token_known = true;
    if (czxid != 0)
        c->czxid = czxid;
    c->further_grants = further_grants;
    c->cohort_left = reuse_.cohort_left(further_grants);
    known_.see_whether_alone(); // which may show that it is gone
}

void lock_queue::token_missed(contender_id id)
{
    if (contender* const c = known_.own().find_in(phase::queued, id))
        known_.move(*c, phase::inspecting);
}

// --- lists of the children -----------------------------------------------------------------------------------------

void lock_queue::children_read(const std::vector<std::string>& names, std::int32_t ever, bool synced)
{
    const readings::sent_read sent = known_.reads().next();
    known_.reads().answer();
    if (sent.watches)
        known_.parent().children_watched();
    known_.listed(names, ever, sent.looks_up && synced);
    if (known_.others_expected())
        reuse_.disturb();
}

void lock_queue::read_failed()
{
    if (known_.reads().next().watches)
        known_.parent().children_unwatched();
    known_.reads().fail();
}

void lock_queue::read_refused()
{
    if (known_.reads().next().watches) {
        reuse_.disturb(); // nobody would tell us who queues
        known_.parent().children_unwatched();
    }
    known_.reads().refuse();
}

// --- the path's own node -------------------------------------------------------------------------------------------

void lock_queue::parent_watched(std::int32_t children, std::int32_t ever, std::int64_t changed_by)
{
    known_.parent().looked_at({children, ever, changed_by});
    known_.see_whether_alone();
}

void lock_queue::numbers_begin_again()
{
    known_.parent().numbers_begin_again();
    emptying_.begin_anew();
}

void lock_queue::parent_absent()
{
    numbers_begin_again();
    forget_parent();
    known_.forget_places(); // nobody can delete a node that has children
}

void lock_queue::children_changed()
{
    known_.parent().children_unwatched();
    reuse_.disturb();
}

void lock_queue::path_refused()
{
    known_.parent().refused();
    reuse_.disturb(); // nobody would have told us who queues
}

// --- single nodes --------------------------------------------------------------------------------------------------

void lock_queue::inspected(contender_id id, std::string_view node, bool ours)
{
    contender* const c = known_.own().find_in(phase::inspecting, id);
    if (c == nullptr || node_of(*c) != node)
        return;
    watched(node);
    if (ours) {
        known_.move(*c, phase::queued);
    } else {
        known_.watches().is_anothers(node_of(*c));
        c->spot->second = 0;
        known_.want_again(*c);
    }
}

void lock_queue::inspect_unknown(contender_id id)
{
    contender* const c = known_.own().find_in(phase::inspecting, id);
    if (c == nullptr)
        return;
    c->prefix = prefix_of(node_of(*c), c->spot->first.sequence);
    c->spot->second = 0; // it counts, for those behind it, until it is known whose it is
    known_.move(*c, phase::unknown);
}

void lock_queue::removed(contender_id id, bool was_there)
{
    contender* const c = known_.own().find(id);
    if (c == nullptr)
        return;
    c->removing = was_there;
    known_.own_node_gone(*c);
}

void lock_queue::remove_failed(contender_id id)
{
    if (contender* const c = known_.own().find(id))
        c->removing = false;
}

void lock_queue::retry_remove(contender_id id)
{
    const contender* const c = known_.own().find_in(phase::leaving, id);
    if (known_.connected() && c != nullptr && !c->removing)
        known_.to_remove().push_back(id);
}

// --- downgrades ----------------------------------------------------------------------------------------------------

void lock_queue::downgraded(contender_id id, bool before)
{
    contender* const found = known_.own().find_in(phase::downgrading, id);
    if (found == nullptr)
        return;
    contender& c = *found;
    action shares{action::kind::shares, id, reader_name(node_of(c))};
    if (!before)
        known_.parent().gave_unseen();
    known_.watches().forget(node_of(c));
    known_.places().rename_as_reader(c, shares.node);
    known_.own().read_on(c);
    known_.watches().look_after_holders(); // its node is another
    if (c.abandoned)
        return known_.start_leaving(c);
    known_.move(c, phase::held);
    known_.news().push_back(std::move(shares));
}

void lock_queue::downgrade_unknown(contender_id id)
{
    contender* const c = known_.own().find_in(phase::downgrading, id);
    if (c != nullptr && c->into_reader == downgrade_state::sent)
        c->into_reader = downgrade_state::unknown; // it is asked for again in the next epoch
}

void lock_queue::downgrade_refused(contender_id id)
{
    contender* const c = known_.own().find_in(phase::downgrading, id);
    if (c == nullptr)
        return;
    if (c->parent_gone)
        return downgrade_lost(id); // its node is gone, and its number says nothing of the next parent's
    c->into_reader = downgrade_state::unsent;
    known_.watches().look_after_holders(); // an event meanwhile may have used up its watch
    if (c->abandoned)
        known_.start_leaving(*c);
    else
        known_.move(*c, phase::held);
}

void lock_queue::downgrade_lost(contender_id id)
{
    contender* const c = known_.own().find_in(phase::downgrading, id);
    if (c == nullptr)
        return;
    const view::iterator place = c->spot;
    known_.forget(*c, c->abandoned ? action::kind::vanished : action::kind::lost);
    known_.watches().forget(place->first.node);
    known_.places().live().erase(place);
    known_.suspect_others();
}

// --- epochs and sessions -------------------------------------------------------------------------------------------

void lock_queue::epoch_ended()
{
    contact_lost();
    known_.epoch_ended();
    emptying_.begin_anew();
}

// --- decisions -----------------------------------------------------------------------------------------------------

const std::vector<action>& lock_queue::next(bool lease_renewable)
{
    actions_.clear();
    decide(known_, reuse_, emptying_, actions_, lease_renewable);
    return actions_;
}

} // namespace zklock::queue
