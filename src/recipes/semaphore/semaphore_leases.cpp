// The leases of a semaphore_path: made, looked for when it is not known whether they were, watched, and deleted.
#include "recipes/semaphore/semaphore_path.hpp"

#include "queue/mutants.hpp"
#include "queue/node_path.hpp"
#include "queue/owner_data.hpp"
#include "recipes/session/error_mapping.hpp"
#include "recipes/session/group_commit.hpp"

#include <algorithm>

namespace zklock::recipes {

using store::outcome;
using phase = lease_node::phase;

namespace {

constexpr std::size_t most_leases = 256;

/// Takes from the list what goes into one transaction.
template <class Bytes> std::vector<lease_ptr> take_some(std::vector<lease_ptr>& list, Bytes bytes_of)
{
    std::size_t count = 0;
    for (std::size_t bytes = 0; count < list.size() && count < most_leases; ++count) {
        bytes += bytes_of(*list[count]);
        if (count != 0 && bytes > most_bytes_of_a_batch)
            break;
    }
    std::vector<lease_ptr> some(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count));
    list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count));
    return some;
}

} // namespace

std::string semaphore_path::node_of(const lease_node& lease) const
{
    return queue::child_of(layout_.leases, lease.name.empty() ? lease.asked : lease.name);
}

/// A write for each of them in one transaction: `form` gives it, but for its path.
template <class Form, class Answered>
void semaphore_path::send_together(std::vector<lease_ptr> leases, Form form, Answered answered)
{
    std::vector<std::string> nodes;
    nodes.reserve(leases.size());
    std::vector<store::batch_write> batch;
    batch.reserve(leases.size());
    for (const lease_ptr& lease : leases)
        batch.emplace_back(form(*lease)).path = nodes.emplace_back(node_of(*lease));
    session_.store.batch(batch, expect([this, leases = std::move(leases), answered](const store::batch_reply& answer) {
        session_.wrote(answer);
        answered(leases, answer);
    }));
}

// --- creates ---------------------------------------------------------------------------------------------------------

void semaphore_path::send_creates()
{
    std::erase_if(to_create_, [](const lease_ptr& lease) { return lease->now != phase::unsent; });
    while (!to_create_.empty() && session_.connected) {
        const auto bytes_of = [&](const lease_node& lease) { return lease_cost_ + lease.owner->data().size(); };
        auto some = take_some(to_create_, bytes_of);
        for (const lease_ptr& lease : some) {
            lease->asked = layout_.lease_name(session_.new_uuid());
            lease->now = phase::creating;
        }
        if (some.size() == 1) {
            send_create(some.front());
            continue;
        }
        const auto form = [this](const lease_node& lease) {
            store::batch_write write;
            write.what = store::batch_write::kind::create;
            write.data = lease.owner->data();
            write.created = layout_.kind();
            return write;
        };
        send_together(std::move(some), form, [this](const auto& created, const store::batch_reply& answer) {
            for (std::size_t i = 0; i < created.size(); ++i)
                on_created(created[i], answer.result,
                           answer.result == outcome::ok ? answer.created[i] : std::string_view());
        });
    }
}

void semaphore_path::send_create(const lease_ptr& lease)
{
    session_.store.create(node_of(*lease), lease->owner->data(), layout_.kind(),
                          expect([this, lease](const store::create_reply& answer) {
                              session_.wrote(answer);
                              on_created(lease, answer.result, answer.path);
                          }));
}

void semaphore_path::on_created(const lease_ptr& lease, outcome result, std::string_view node)
{
    if (lease->now != phase::creating)
        return; // the session has ended meanwhile
    switch (result) {
    case outcome::ok: return take_name(lease, queue::name_of(node));
    case outcome::unknown:
        if (!lease->owner && ZKLOCK_MUTANT(semaphore_unknown_create_forgotten))
            return gone(lease);
        lease->now = phase::unknown;
        unknown_.push_back(lease);
        return;
    case outcome::no_node:
        if (!lease->owner)
            return gone(lease);
        lease->now = phase::unsent;
        to_create_.push_back(lease);
        if (check_ == check::none)
            own_path_gone(); // and what was written there
        return make_path(parents_, layout_.leases);
    default: {
        auto* const owner = lease->owner;
        lease->owner = nullptr;
        gone(lease);
        if (owner)
            owner->fail(error_of(result));
    }
    }
}

/// It is there, by that name.
void semaphore_path::take_name(const lease_ptr& lease, std::string_view name)
{
    std::string known(name);
    by_name_.emplace(known, lease);
    lease->name = std::move(known);
    lease->now = phase::there;
    if (!lease->owner && !ZKLOCK_MUTANT(semaphore_lease_of_a_cancelled_create_stays))
        to_remove_.push_back(lease);
}

// --- creates of unknown outcome --------------------------------------------------------------------------------------

/// The server of the new connection may not know yet what the old one did: first it has to catch up. What it does not
/// list then remains in doubt.
void semaphore_path::send_look_up()
{
    look_up_ = look_up::under_way;
    if (!ZKLOCK_MUTANT(semaphore_look_up_without_sync))
        session_.catch_up();
    session_.store.children(layout_.leases, false, expect([this](const store::children_reply& answer) {
        static const std::vector<std::string> none;
        if (look_up_ != look_up::under_way || answer.result == outcome::unknown)
            return; // it is done in the next epoch
        look_up_ = look_up::none;
        const bool complete = session_.caught_up() || ZKLOCK_MUTANT(semaphore_look_up_without_sync);
        if (complete && answer.result == outcome::ok)
            return on_look_up(*answer.names);
        if (complete && answer.result == outcome::no_node)
            return on_look_up(none);
        fail_heads(error_of(answer.result)); // who left is still looked for
        after_a_while([this] {
            if (!unknown_.empty() && look_up_ == look_up::none)
                look_up_ = look_up::due;
        });
    }));
}

void semaphore_path::on_look_up(const std::vector<std::string>& names)
{
    stale_ = true;
    for (const lease_ptr& lease : std::exchange(unknown_, {})) {
        const auto found = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
            return layout_.made_from(lease->asked, name);
        });
        if (found == names.end())
            session_.creates_in_doubt.not_found(layout_.leases, lease->asked);
        if (found != names.end()) {
            take_name(lease, *found);
        } else if (lease->owner) {
            lease->now = phase::unsent;
            to_create_.push_back(lease);
        } else {
            gone(lease);
        }
    }
}

// --- watches ---------------------------------------------------------------------------------------------------------

void semaphore_path::send_watches()
{
    for (const lease_ptr& lease : std::exchange(to_watch_, {}))
        if (lease->owner && lease->now == phase::there)
            send_watch(lease);
}

void semaphore_path::send_watch(const lease_ptr& lease)
{
    lease->watched = true;
    session_.store.get(node_of(*lease), true, expect([this, lease](const store::get_reply& answer) {
        switch (answer.result) {
        case outcome::ok:
            if (answer.data == queue::revocation_request && lease->owner)
                lease->owner->revoked();
            return;
        case outcome::no_node: return lost_to_others(lease);
        case outcome::unknown: return; // the next epoch watches again
        default: after_a_while([this, lease] { to_watch_.push_back(lease); });
        }
    }));
}

// --- deletes ---------------------------------------------------------------------------------------------------------

void semaphore_path::send_removes()
{
    std::erase_if(to_remove_, [](const lease_ptr& lease) { return lease->now != phase::there; });
    while (!to_remove_.empty() && session_.connected) {
        auto some = take_some(to_remove_, [this](const lease_node&) { return lease_cost_; });
        for (const lease_ptr& lease : some)
            lease->now = phase::removing;
        if (some.size() == 1) {
            send_remove(some.front());
            continue;
        }
        const auto form = [](const lease_node&) {
            store::batch_write write;
            write.what = store::batch_write::kind::remove;
            return write;
        };
        send_together(std::move(some), form, [this](const auto& removed, const store::batch_reply& answer) {
            // One that cannot be deleted, or is gone already, keeps the others: each goes alone.
            const bool refused = answer.result != outcome::ok && answer.result != outcome::unknown;
            for (const lease_ptr& lease : removed) {
                if (!refused)
                    on_removed(lease, answer.result);
                else if (lease->now == phase::removing)
                    send_remove(lease);
            }
        });
    }
}

void semaphore_path::send_remove(const lease_ptr& lease)
{
    session_.store.remove(node_of(*lease), store::any_version, expect([this, lease](const store::reply& answer) {
        session_.wrote(answer);
        on_removed(lease, answer.result);
    }));
}

void semaphore_path::on_removed(const lease_ptr& lease, outcome result)
{
    if (lease->now != phase::removing)
        return; // gone with its session, or by others
    switch (result) {
    case outcome::ok:
    case outcome::no_node: return gone(lease);
    case outcome::unknown:
        if (ZKLOCK_MUTANT(semaphore_unknown_delete_counts_as_done))
            return gone(lease);
        lease->now = phase::there;
        to_remove_.push_back(lease);
        return;
    default: // forbidden for now, say: the caller hears of it, and it is tried again until the session ends
        if (lease->ending)
            permits_release::one_ended(lease->ending, error_of(result),
                                       [this](auto news) { session_.tell(std::move(news)); });
        lease->ending = nullptr;
        after_a_while([this, lease] {
            if (lease->now != phase::removing)
                return;
            lease->now = phase::there;
            to_remove_.push_back(lease);
        });
    }
}

} // namespace zklock::recipes
