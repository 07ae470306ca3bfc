// The nodes of a semaphore_path: made, looked for when it is not known whether they were, watched, and deleted.
#include "recipes/semaphore/semaphore_path.hpp"

#include "queue/node_path.hpp"
#include "queue/owner_data.hpp"
#include "recipes/session/error_mapping.hpp"
#include "recipes/session/group_commit.hpp"
#include "recipes/session/option_faults.hpp"
#include "store/access_size.hpp"

#include <algorithm>

namespace zklock::recipes {

using store::outcome;
using phase = permit_node::phase;

namespace {

constexpr std::size_t most_at_once = 256;

/// Takes from the list what goes into one transaction: at least the first, and others `like` it.
template <class Bytes, class Like>
std::vector<permit_ptr> take_some(std::vector<permit_ptr>& list, Bytes bytes_of, Like like)
{
    std::size_t count = 0;
    for (std::size_t bytes = 0; count < list.size() && count < most_at_once; ++count) {
        bytes += bytes_of(*list[count]);
        if (count != 0 && (bytes > most_bytes_of_a_batch || !like(*list.front(), *list[count])))
            break;
    }
    std::vector<permit_ptr> some(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count));
    list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count));
    return some;
}

} // namespace

std::string semaphore_path::path_of(const permit_node& node) const
{
    return queue::child_of(layout_.permits, node.name.empty() ? node.asked : node.name);
}

/// A write for each of them in one transaction: `form` gives it, but for its path.
template <class Form, class Answered>
void semaphore_path::send_together(std::vector<permit_ptr> nodes, Form form, Answered answered)
{
    std::vector<std::string> paths;
    paths.reserve(nodes.size());
    std::vector<store::batch_write> batch;
    batch.reserve(nodes.size());
    for (const permit_ptr& node : nodes)
        batch.emplace_back(form(*node)).path = paths.emplace_back(path_of(*node));
    session_.store.batch(batch, expect([this, nodes = std::move(nodes), answered](const store::batch_reply& answer) {
        session_.wrote(answer);
        answered(nodes, answer);
    }));
}

// --- creates ---------------------------------------------------------------------------------------------------------

void semaphore_path::send_creates()
{
    std::erase_if(to_create_, [](const permit_ptr& node) { return node->now != phase::unsent; });
    while (!to_create_.empty() && session_.connected) {
        const auto bytes_of = [&](const permit_node& node) {
            const access_list* const own = node.owner->access();
            return node_cost_ + node.owner->data().size() + store::size_of(own ? *own : session_.options.access);
        };
        // Heads may have different access lists: so each has a transaction of its own, and is refused alone.
        const auto like = [](const permit_node& a, const permit_node& b) { return a.owner == b.owner; };
        auto some = take_some(to_create_, bytes_of, like);
        for (const permit_ptr& node : some) {
            node->asked = layout_.node_name(session_.new_uuid());
            node->now = phase::creating;
        }
        if (some.size() == 1) {
            send_create(some.front());
            continue;
        }
        const auto form = [this](const permit_node& node) {
            store::batch_write write;
            write.what = store::batch_write::kind::create;
            write.data = node.owner->data();
            write.created = layout_.kind();
            write.access = node.owner->access();
            return write;
        };
        send_together(std::move(some), form, [this](const auto& created, const store::batch_reply& answer) {
            for (std::size_t i = 0; i < created.size(); ++i)
                on_created(created[i], answer.result,
                           answer.result == outcome::ok ? answer.created[i] : std::string_view());
        });
    }
}

void semaphore_path::send_create(const permit_ptr& node)
{
    session_.store.create(path_of(*node), node->owner->data(), layout_.kind(), node->owner->access(),
                          expect([this, node](const store::create_reply& answer) {
                              session_.wrote(answer);
                              on_created(node, answer.result, answer.path);
                          }));
}

void semaphore_path::on_created(const permit_ptr& node, outcome result, std::string_view path)
{
    if (node->now != phase::creating)
        return; // the session has ended meanwhile
    switch (result) {
    case outcome::ok:
        session_.own_writes.made(queue::child_of(layout_.permits, queue::name_of(path)));
        return take_name(node, queue::name_of(path));
    case outcome::unknown:
        node->now = phase::unknown;
        unknown_.push_back(node);
        return;
    case outcome::no_node:
        if (!node->owner)
            return gone(node);
        node->now = phase::unsent;
        to_create_.push_back(node);
        if (check_ == check::none)
            own_path_gone(); // and what was written there
        return make_path(parents_, layout_.permits);
    default: {
        notice_refusal(result);
        auto* const owner = node->owner;
        node->owner = nullptr;
        gone(node);
        if (!owner)
            return;
        log_refusal(session_, path_, owner->request().options.access, result);
        owner->fail(error_of(result));
    }
    }
}

/// It is there, by that name.
void semaphore_path::take_name(const permit_ptr& node, std::string_view name)
{
    std::string known(name);
    by_name_.emplace(known, node);
    node->name = std::move(known);
    node->now = phase::there;
    if (!node->owner)
        to_remove_.push_back(node);
}

// --- lost creates ----------------------------------------------------------------------------------------------------

/// The server of the new connection may not know yet what the old one did: first it has to catch up. What it does not
/// list then remains lost.
void semaphore_path::send_look_up()
{
    look_up_ = look_up::under_way;
    session_.catch_up.begin();
    session_.store.children(layout_.permits, false, expect([this](const store::children_reply& answer) {
        static const std::vector<std::string> none;
        if (look_up_ != look_up::under_way || answer.result == outcome::unknown)
            return; // it is done in the next epoch
        look_up_ = look_up::none;
        const bool complete = session_.catch_up.done();
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
    std::vector<std::shared_ptr<semaphore_acquisition>> set_back; // each once: its nodes stand together
    for (const permit_ptr& node : std::exchange(unknown_, {})) {
        const auto found = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
            return layout_.made_from(node->asked, name);
        });
        if (found == names.end())
            session_.lost_creates.not_found(layout_.permits, node->asked);
        if (found != names.end()) {
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

// --- watches ---------------------------------------------------------------------------------------------------------

void semaphore_path::send_watches()
{
    for (const permit_ptr& node : std::exchange(to_watch_, {}))
        if (node->owner && node->now == phase::there)
            send_watch(node);
}

void semaphore_path::send_watch(const permit_ptr& node)
{
    node->watched = true;
    session_.store.get(path_of(*node), true, expect([this, node](const store::get_reply& answer) {
        switch (answer.result) {
        case outcome::ok:
            if (answer.data == queue::revocation_request && node->owner)
                node->owner->revoked();
            return;
        case outcome::no_node:
            session_.own_writes.found_gone(path_of(*node));
            return lost_to_others(node);
        case outcome::unknown: return; // the next epoch watches again
        default: after_a_while([this, node] { to_watch_.push_back(node); });
        }
    }));
}

// --- deletes ---------------------------------------------------------------------------------------------------------

void semaphore_path::send_removes()
{
    std::erase_if(to_remove_, [](const permit_ptr& node) { return node->now != phase::there; });
    while (!to_remove_.empty() && session_.connected) {
        auto some = take_some(
            to_remove_, [this](const permit_node&) { return node_cost_; },
            [](const permit_node&, const permit_node&) { return true; });
        for (const permit_ptr& node : some) {
            node->now = phase::removing;
            session_.own_writes.may_be_gone(path_of(*node));
        }
        if (some.size() == 1) {
            send_remove(some.front());
            continue;
        }
        const auto form = [](const permit_node&) {
            store::batch_write write;
            write.what = store::batch_write::kind::remove;
            return write;
        };
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

void semaphore_path::send_remove(const permit_ptr& node)
{
    session_.store.remove(path_of(*node), store::any_version, expect([this, node](const store::reply& answer) {
        session_.wrote(answer);
        on_removed(node, answer.result);
    }));
}

/// It was gone when its delete was done.
void semaphore_path::gone_already(const permit_ptr& node)
{
    node->now = permit_node::phase::there; // if what follows throws, another delete gets the same answer
    session_.own_writes.found_gone(path_of(*node));
    node->found_gone = true;
    gone(node, fate(*node));
}

void semaphore_path::on_removed(const permit_ptr& node, outcome result)
{
    if (node->now != phase::removing)
        return; // gone with its session, or by others
    if (result == outcome::ok)
        session_.own_writes.removed(path_of(*node));
    switch (result) {
    case outcome::ok: return gone(node);
    case outcome::no_node: return gone_already(node);
    case outcome::unknown:
        node->may_be_deleted = true;
        node->now = phase::there;
        to_remove_.push_back(node);
        return;
    default: // forbidden for now, say: the caller hears of it, and it is tried again until the session ends
        notice_refusal(result);
        if (node->vanished)
            return gone_already(node);
        node->may_be_deleted = true; // by others then, who do what it wanted
        if (node->ending)
            permits_release::one_ended(node->ending, error_of(result),
                                       [this](auto news) { session_.news.tell(std::move(news)); });
        node->ending = nullptr;
        after_a_while([this, node] {
            if (node->now != phase::removing)
                return;
            node->now = phase::there;
            to_remove_.push_back(node);
        });
    }
}

} // namespace zklock::recipes
