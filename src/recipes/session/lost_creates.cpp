#include "recipes/session/lost_creates.hpp"

#include "queue/node_path.hpp"
#include "recipes/session/session.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace zklock::recipes {

using store::outcome;

void lost_creates::not_found(const std::string& parent, std::string name, std::int64_t changed)
{
    if (session_.server_proved())
        session_.own_writes().not_found(parent, name, changed);
    else
        lost_[parent].emplace(std::move(name), create{{}, true, session_.scheduler.now(), changed});
}

bool lost_creates::knows(std::string_view parent, std::string_view child) const
{
    const auto there = lost_.find(parent);
    return there != lost_.end() && std::any_of(there->second.begin(), there->second.end(),
                                               [child](const auto& create) { return child.starts_with(create.first); });
}

void lost_creates::epoch_began()
{
    ++epoch_;
    epoch_began_ = session_.scheduler.now();
    to_be_looked_up_.clear();
    for (auto& [parent, names] : lost_) {
        for (auto& [name, create] : names)
            create.looked_for = false;
        look_up(parent);
    }
}

/// Nothing will come of them any more, unless servers are set back.
void lost_creates::forget(const std::string& parent, names& all, const std::predicate<create> auto& which)
{
    std::erase_if(all, [&](const auto& each) {
        const bool forgotten = which(each.second);
        if (forgotten)
            session_.own_writes().not_found(parent, each.first, each.second.changed);
        return forgotten;
    });
}

void lost_creates::server_proved()
{
    for (auto& [parent, names] : lost_)
        forget(parent, names, [](const create& c) { return c.looked_for; });
    std::erase_if(lost_, [](const auto& entry) { return entry.second.empty(); });
}

void lost_creates::look_up(const std::string& parent)
{
    session_.catch_up().begin();
    session_.store.children(parent, false, [this, parent](const store::children_reply& answer) {
        if (answer.result == outcome::unknown)
            return session_.contact_lost(); // it is done in the next epoch
        session_.own_writes().listed(parent, answer);
        if (session_.catch_up().done() && answer.result == outcome::ok)
            on_list(parent, *answer.names, answer.stat.pzxid);
        else if (session_.catch_up().done() && answer.result == outcome::no_node)
            on_list(parent, *answer.names, 0);
        else
            look_up_later(parent);
    });
}

/// Looks again after a second, because the server has refused the look, and may not refuse it for ever.
void lost_creates::look_up_later(const std::string& parent)
{
    constexpr std::chrono::seconds before_next_attempt{1};
    if (!to_be_looked_up_.insert(parent).second)
        return;
    session_.news().later(before_next_attempt, [this, parent, epoch = epoch_] {
        if (epoch != epoch_)
            return;
        to_be_looked_up_.erase(parent);
        if (session_.connected() && lost_.contains(parent))
            look_up(parent);
    });
}

void lost_creates::on_list(const std::string& parent, const std::vector<std::string>& children, std::int64_t changed)
{
    const auto entry = lost_.find(parent);
    if (entry == lost_.end())
        return;
    for (auto& [name, create] : entry->second) {
        create.looked_for = true;
        create.changed = changed;
    }
    for (const std::string& child : children) {
        const auto after = entry->second.upper_bound(child);
        if (after == entry->second.begin())
            continue;
        auto& [name, create] = *std::prev(after); // none of them begins with another one
        if (!child.starts_with(name))
            continue;
        create = {queue::child_of(parent, child)};
        remove(parent, name, child);
    }
    missed(parent, entry->second);
    if (entry->second.empty())
        lost_.erase(entry);
    if (session_.server_proved())
        server_proved();
}

void lost_creates::missed(const std::string& parent, names& all)
{
    const lease_times& times = session_.lease().times();
    const auto old_leader_answers = std::max(times.margin(), times.tick); // at most: see lease
    forget(parent, all,
           [&](const create& c) { return c.looked_for && c.missed && epoch_began_ - *c.missed >= old_leader_answers; });
    for (auto& [name, create] : all) {
        if (create.looked_for && !create.missed)
            create.missed = session_.scheduler.now();
        if (create.looked_for && !create.node.empty()) // the answer to its delete was lost
            session_.own_writes().found_gone(std::exchange(create.node, {}), create.changed);
    }
}

void lost_creates::remove(const std::string& parent, const std::string& name, std::string_view child)
{
    std::string node = queue::child_of(parent, child);
    const auto answered = [this, parent, name, node](const store::reply& answer) {
        session_.wrote(answer);
        session_.own_writes().delete_answered(node, answer.result);
        const auto entry = lost_.find(parent);
        if (entry == lost_.end() || answer.result == outcome::unknown)
            return;
        if (answer.result != outcome::ok && answer.result != outcome::no_node)
            return look_up_later(parent);
        entry->second.erase(name);
        if (entry->second.empty())
            lost_.erase(entry);
    };
    session_.store.remove(node, store::any_version, answered);
}

} // namespace zklock::recipes
