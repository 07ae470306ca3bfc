#include "recipes/semaphore/permit_nodes.hpp"

#include "queue/node_path.hpp"
#include "queue/owner_data.hpp"
#include "recipes/semaphore/semaphore_path.hpp"
#include "recipes/session/error_mapping.hpp"
#include "recipes/session/option_faults.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace zklock::recipes {

using store::outcome;
using phase = permit_node::phase;

permit_nodes::permit_nodes(semaphore_path& semaphore, session& s, const semaphore_layout& layout)
    : semaphore_part(semaphore, s, layout),
      cost_(budget_line::cost(s.options.chroot.size() + layout.permits.size() + 1 + layout.longest_name()))
{
}

permit_ptr permit_nodes::find(std::string_view name) const
{
    const auto found = by_name_.find(std::string(name));
    return found == by_name_.end() ? nullptr : found->second;
}

bool permit_nodes::of_a_waiter(std::string_view name) const
{
    const permit_ptr own = find(name);
    return own && own->owner && own->owner->waiting();
}

std::string permit_nodes::path_of(const permit_node& node) const
{
    return queue::child_of(layout_.permits, node.name.empty() ? node.asked : node.name);
}

void permit_nodes::want(semaphore_acquisition& head)
{
    head.nodes.reserve(head.request().count);
    for (std::size_t i = 0; i < head.request().count; ++i) {
        const auto node = std::make_shared<permit_node>();
        node->id = ++last_id_;
        node->owner = &head;
        nodes_.emplace(node->id, node);
        head.nodes.push_back(node);
        to_create_.push_back(node);
    }
}

void permit_nodes::send(bool creates)
{
    if (look_up_ == look_up::due)
        send_look_up();
    send_removes();
    if (look_up_ == look_up::none && creates)
        send_creates();
    send_watches();
}

void permit_nodes::flush()
{
    if (!session_.over() && session_.connected())
        send_removes();
}

/// Takes from the list what goes into one transaction: at least the first, and others of the same owner, if they have
/// one. Heads may have different access lists: so each has a transaction of its own, and is refused alone.
std::vector<permit_ptr> permit_nodes::take_batch(std::vector<permit_ptr>& list) const
{
    constexpr std::size_t most_at_once = 256;
    const semaphore_acquisition* const owner = list.front()->owner;
    std::size_t bytes_of_each = cost_;
    if (owner) {
        const access_list* const own = owner->access();
        bytes_of_each += owner->data().size() + store::size_of(own ? *own : session_.options.access);
    }
    const std::size_t most =
        std::clamp<std::size_t>(most_bytes_of_a_batch / bytes_of_each, 1, std::min(list.size(), most_at_once));
    const auto rest = std::find_if(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(most),
                                   [owner](const permit_ptr& node) { return node->owner != owner; });
    std::vector<permit_ptr> some(list.begin(), rest);
    list.erase(list.begin(), rest);
    return some;
}

/// A write for each of them in one transaction: `form` gives it, but for its path.
template <class Answered>
void permit_nodes::send_together(std::vector<permit_ptr> nodes, store::batch_write form, Answered answered)
{
    std::vector<std::string> paths;
    paths.reserve(nodes.size());
    std::vector<store::batch_write> batch;
    batch.reserve(nodes.size());
    for (const permit_ptr& node : nodes) {
        form.path = paths.emplace_back(path_of(*node));
        batch.push_back(form);
    }
    session_.store.batch(
        batch, semaphore_.expect([this, nodes = std::move(nodes), answered](const store::batch_reply& answer) {
            session_.wrote(answer);
            answered(nodes, answer);
        }));
}

// --- creates ---------------------------------------------------------------------------------------------------------

void permit_nodes::send_creates()
{
    std::erase_if(to_create_, [](const permit_ptr& node) { return node->now != phase::unsent; });
    while (!to_create_.empty() && session_.connected()) {
        auto some = take_batch(to_create_);
        for (const permit_ptr& node : some) {
            node->asked = layout_.node_name(session_.new_uuid());
            node->now = phase::creating;
        }
        if (some.size() == 1) {
            send_create(some.front());
            continue;
        }
        const auto owner = some.front()->owner;
        const store::batch_write form{.what = store::batch_write::kind::create,
                                      .data = owner->data(),
                                      .created = layout_.kind(),
                                      .access = owner->access()};
        send_together(std::move(some), form, [this](const auto& created, const store::batch_reply& answer) {
            for (std::size_t i = 0; i < created.size(); ++i)
                on_created(created[i], answer.result,
                           answer.result == outcome::ok ? answer.created[i] : std::string_view());
        });
    }
}

void permit_nodes::send_create(const permit_ptr& node)
{
    session_.store.create(path_of(*node), node->owner->data(), layout_.kind(), node->owner->access(),
                          semaphore_.expect([this, node](const store::create_reply& answer) {
                              session_.wrote(answer);
                              on_created(node, answer.result, answer.path, answer.stat.czxid);
                          }));
}

void permit_nodes::on_created(const permit_ptr& node, outcome result, std::string_view path, std::int64_t czxid)
{
    if (node->now != phase::creating)
        return; // the session has ended meanwhile
    switch (result) {
    case outcome::ok:
        session_.own_writes().made(queue::child_of(layout_.permits, queue::name_of(path)), czxid);
        return take_name(node, queue::name_of(path));
    case outcome::unknown:
        node->now = phase::unknown;
        unknown_.push_back(node);
        return;
    case outcome::no_node:
        parent_gone();
        if (!node->owner)
            return gone(node);
        node->now = phase::unsent;
        to_create_.push_back(node);
        return semaphore_.make_own_path();
    default: {
        semaphore_.notice_refusal(result);
        auto* const owner = node->owner;
        node->owner = nullptr;
        gone(node);
        if (!owner)
            return;
        log_refusal(session_, semaphore_.path(), owner->request().options.access, result);
        owner->fail(error_of(result));
    }
    }
}

/// It is there, by that name.
void permit_nodes::take_name(const permit_ptr& node, std::string_view name)
{
    by_name_.emplace(name, node);
    node->name = name;
    node->now = phase::there;
    if (!node->owner)
        to_remove_.push_back(node);
}

// --- lost creates ----------------------------------------------------------------------------------------------------

/// The server of the new connection may not know yet what the old one did: first it has to catch up. What it does not
/// list then remains lost.
void permit_nodes::send_look_up()
{
    look_up_ = look_up::under_way;
    session_.catch_up().begin();
    session_.store.children(layout_.permits, false, semaphore_.expect([this](const store::children_reply& answer) {
        if (look_up_ != look_up::under_way || answer.result == outcome::unknown)
            return; // it is done in the next epoch
        look_up_ = look_up::none;
        session_.own_writes().listed(layout_.permits, answer);
        const bool complete = session_.catch_up().done();
        if (complete && answer.result == outcome::ok)
            return on_look_up(*answer.names, answer.stat.pzxid);
        if (complete && answer.result == outcome::no_node)
            return on_look_up(*answer.names, 0);
        semaphore_.fail_heads(error_of(answer.result)); // who left is still looked for
        semaphore_.after_a_while([this] {
            if (!unknown_.empty() && look_up_ == look_up::none)
                look_up_ = look_up::due;
        });
    }));
}

void permit_nodes::on_look_up(const std::vector<std::string>& names, std::int64_t changed)
{
    semaphore_.look_again();
    std::vector<std::shared_ptr<semaphore_acquisition>> set_back; // each once: its nodes stand together
    for (const permit_ptr& node : std::exchange(unknown_, {})) {
        const auto found = std::find_if(names.begin(), names.end(),
                                        [&](const std::string& name) { return layout_.made_from(node->asked, name); });
        if (found == names.end())
            session_.lost_creates().not_found(layout_.permits, node->asked, changed);
        if (found != names.end()) {
            session_.own_writes().found(queue::child_of(layout_.permits, *found), changed);
            take_name(node, *found);
        } else if (node->owner) {
            if (set_back.empty() || set_back.back().get() != node->owner)
                set_back.push_back(node->owner->shared_from_this());
            node->now = phase::unsent;
            to_create_.push_back(node);
        } else {
            gone(node);
        }
    }
    for (const auto& owner : set_back)
        owner->attempt_again(errc::not_connected);
}

// --- deletes ---------------------------------------------------------------------------------------------------------

void permit_nodes::send_removes()
{
    std::erase_if(to_remove_, [](const permit_ptr& node) { return node->now != phase::there; });
    while (!to_remove_.empty() && session_.connected()) {
        auto some = take_batch(to_remove_);
        for (const permit_ptr& node : some) {
            node->now = phase::removing;
            session_.own_writes().may_be_gone(path_of(*node));
        }
        if (some.size() == 1) {
            send_remove(some.front());
            continue;
        }
        const store::batch_write form{.what = store::batch_write::kind::remove};
        send_together(std::move(some), form, [this](const auto& removed, const store::batch_reply& answer) {
            // One that cannot be deleted, or is gone already, keeps the others: each goes alone.
            const bool refused = answer.result != outcome::ok && answer.result != outcome::unknown;
            for (const permit_ptr& node : removed) {
                if (!refused)
                    on_removed(node, answer.result);
                else if (node->now == phase::removing)
                    send_remove(node);
            }
        });
    }
}

void permit_nodes::send_remove(const permit_ptr& node)
{
    session_.store.remove(path_of(*node), store::any_version,
                          semaphore_.expect([this, node](const store::reply& answer) {
                              session_.wrote(answer);
                              on_removed(node, answer.result);
                          }));
}

void permit_nodes::on_removed(const permit_ptr& node, outcome result)
{
    if (node->now != phase::removing)
        return; // gone with its session, or by others
    if (result == outcome::ok)
        session_.own_writes().removed(path_of(*node));
    switch (result) {
    case outcome::ok: return gone(node);
    case outcome::no_node: return gone_already(node);
    case outcome::unknown:
        node->may_be_deleted = true;
        node->now = phase::there;
        to_remove_.push_back(node);
        return;
    default: // forbidden for now, say: the caller hears of it, and it is tried again until the session ends
        semaphore_.notice_refusal(result);
        if (node->vanished)
            return gone_already(node);
        node->may_be_deleted = true; // by others then, who do what it wanted
        if (node->ending)
            node->ending->returned(error_of(result));
        node->ending = nullptr;
        semaphore_.after_a_while([this, node] {
            if (node->now != phase::removing)
                return;
            node->now = phase::there;
            to_remove_.push_back(node);
        });
    }
}

// --- the end of a node -----------------------------------------------------------------------------------------------

void permit_nodes::drop(const permit_ptr& node)
{
    if (node->now == phase::unsent)
        gone(node);
    else if (node->now == phase::there)
        to_remove_.push_back(node);
    else if (node->now == phase::gone && node->ending) // already, and it was not noticed
        gone(node, node->fate());
}

lock_loss permit_nodes::loss_of(const permit_node& node, const semaphore_acquisition& ending) const noexcept
{
    lock_loss how = session_.losses().of(ending.held_since());
    if (node.found_gone)
        how.reason = loss_reason::node_deleted;
    return how;
}

void permit_nodes::gone(const permit_ptr& node, boost::system::error_code ec)
{
    const auto ending = node->ending;
    if (ending && ending->returned(ec))
        ending->log_loss(loss_of(*node, *ending), node->name);
    node->ending = nullptr;
    node->now = phase::gone;
    if (!node->name.empty())
        by_name_.erase(node->name);
    // What is taken from its owner is no release.
    const auto events = node->owner ? nullptr : std::exchange(node->events, nullptr);
    if (nodes_.erase(node->id) != 0)
        session_.budget().release(cost_);
    if (events && ending && ec == errc::lost)
        events->lost(loss_of(*node, *ending));
    if (events)
        events->returned(ec);
}

void permit_nodes::lost_to_others(const permit_ptr& node)
{
    if (node->now == phase::gone)
        return;
    if (node->now == phase::removing) { // the answer to its delete will tell whose doing it was
        node->vanished = true;
        return;
    }
    auto* const owner = node->owner;
    gone(node, node->fate());
    if (owner)
        owner->node_gone(node->name);
}

/// Owners hear of it when all of their nodes are known to be gone: nothing is left for them to delete.
void permit_nodes::parent_gone()
{
    session_.own_writes().all_found_gone(layout_.permits);
    std::vector<permit_ptr> there;
    for (const auto& [id, node] : nodes_)
        if (node->now == phase::there)
            there.push_back(node);
    std::vector<std::shared_ptr<semaphore_acquisition>> owners; // each once: its nodes stand together
    for (const permit_ptr& node : there) {
        session_.own_writes().deleted(path_of(*node));
        if (node->owner && (owners.empty() || owners.back().get() != node->owner))
            owners.push_back(node->owner->shared_from_this());
        gone(node, node->fate());
    }
    for (const auto& owner : owners)
        owner->node_gone(owner->nodes.front()->name);
}

/// It was gone when its delete was done.
void permit_nodes::gone_already(const permit_ptr& node)
{
    session_.own_writes().found_gone(path_of(*node));
    node->found_gone = true;
    gone(node, node->fate());
}

// --- watches ---------------------------------------------------------------------------------------------------------

void permit_nodes::watch(const semaphore_acquisition& holder, bool again)
{
    for (const permit_ptr& node : holder.nodes)
        if (!std::exchange(node->watched, true) || again) // in the next epoch, if there is none now
            to_watch_.push_back(node);
}

void permit_nodes::send_watches()
{
    for (const permit_ptr& node : std::exchange(to_watch_, {})) {
        if (!node->owner || node->now != phase::there)
            continue;
        node->watched = true;
        session_.store.get(path_of(*node), true, semaphore_.expect([this, node](const store::get_reply& answer) {
            switch (answer.result) {
            case outcome::ok:
                if (answer.data == queue::revocation_request && node->owner)
                    node->owner->revoked();
                return;
            case outcome::no_node: session_.own_writes().found_gone(path_of(*node)); return lost_to_others(node);
            case outcome::unknown: return; // the next epoch watches again
            default: semaphore_.after_a_while([this, node] { to_watch_.push_back(node); });
            }
        }));
    }
}

// --- what becomes of the session -------------------------------------------------------------------------------------

void permit_nodes::epoch_began()
{
    if (!unknown_.empty())
        look_up_ = look_up::due;
    to_watch_.clear();
    for (const auto& [id, node] : nodes_)
        if (std::exchange(node->watched, false) && node->owner)
            to_watch_.push_back(node);
}

void permit_nodes::session_ended()
{
    while (!nodes_.empty()) {
        const permit_ptr node = nodes_.begin()->second;
        node->owner = nullptr;
        gone(node);
    }
    for (auto* list : {&to_create_, &to_remove_, &unknown_, &to_watch_})
        list->clear();
    by_name_.clear();
}

void permit_nodes::session_overdue()
{
    for (const auto& [id, node] : nodes_)
        if (node->ending)
            node->ending->wait_no_longer();
}

void permit_nodes::stop(errc why)
{
    while (!nodes_.empty())
        gone(permit_ptr(nodes_.begin()->second), why);
}

bool permit_nodes::on_event(store::event_kind kind, std::string_view child)
{
    const permit_ptr node = find(child);
    if (!node)
        return false;
    if (kind == store::event_kind::deleted)
        lost_to_others(node);
    else if (node->watched && node->owner)
        to_watch_.push_back(node); // that one is used up
    return true;
}

bool permit_nodes::is_watched(std::string_view child) const
{
    const permit_ptr node = find(child);
    return node && node->watched;
}

bool permit_nodes::owns(std::string_view child) const
{
    const auto made_it = [&](const permit_ptr& node) { return layout_.made_from(node->asked, child); };
    return by_name_.contains(std::string(child)) || std::any_of(unknown_.begin(), unknown_.end(), made_it);
}

bool permit_nodes::misses_one(const std::set<std::string_view>& names) const
{
    return std::any_of(by_name_.begin(), by_name_.end(), [&](const auto& known) {
        const bool wanted = known.second->owner && known.second->now == phase::there;
        return wanted && !names.contains(known.first);
    });
}

} // namespace zklock::recipes
