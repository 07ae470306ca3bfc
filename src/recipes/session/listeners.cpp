#include "recipes/session/listeners.hpp"

#include "queue/node_path.hpp"
#include "recipes/session/session.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

namespace zklock::recipes {

bool listeners::stop_listening(std::string_view path, session_member& member, bool watched)
{
    const auto [first, last] = by_path_.equal_range(path);
    const auto own = std::find_if(first, last, [&](const auto& entry) { return entry.second == &member; });
    if (own != last)
        by_path_.erase(own);
    if (!by_path_.contains(path))
        return forget_left_watch(path) || watched;
    if (watched && session_.connected())
        left_watches_.emplace(path);
    return false;
}

bool listeners::forget_left_watch(std::string_view path) noexcept
{
    const auto left = left_watches_.find(path);
    const bool was_left = left != left_watches_.end();
    if (was_left)
        left_watches_.erase(left);
    return was_left;
}

bool listeners::leave_watch(std::string_view path)
{
    const bool shared = by_path_.count(path) > 1; // a watch that is taken back is taken from all
    if (shared) {
        left_watches_.emplace(path);
        return false;
    }
    forget_left_watch(path);
    return true;
}

bool listeners::hand_over_watch(std::string_view path)
{
    if (!by_path_.contains(path))
        return false;
    left_watches_.emplace(path);
    return true;
}

/// Whether that is so of any member that listens to the path.
template <class Is> bool listeners::any_at(std::string_view path, Is is) const
{
    const auto [first, last] = by_path_.equal_range(path);
    return std::any_of(first, last, [&](const auto& entry) { return is(*entry.second); });
}

bool listeners::wanted(std::string_view node) const
{
    if (by_path_.contains(node))
        return true;
    const std::string_view parent = queue::parent_of(node);
    return any_at(parent, [&](const session_member& m) { return m.watches_child(parent, queue::name_of(node)); });
}

bool listeners::own_child(std::string_view path, std::string_view child) const
{
    return any_at(path, [&](const session_member& m) { return m.owns_child(path, child); });
}

bool listeners::misses_child(std::string_view path, const std::set<std::string_view>& names) const
{
    return any_at(path, [&](const session_member& m) { return m.misses_child(path, names); });
}

/// Calls `tell` with each member that listens to the path. A member that is told may listen to something else then.
template <class F> void listeners::tell_all(std::string_view path, F tell)
{
    const auto [first, last] = by_path_.equal_range(path);
    std::vector<session_member*> all;
    std::transform(first, last, std::back_inserter(all), [](const auto& entry) { return entry.second; });
    for (session_member* member : all)
        tell(*member);
}

void listeners::tell_event(store::event_kind kind, std::string_view node)
{
    tell_all(node, [&](session_member& member) { member.on_own_event(kind, node); });
    const std::string_view parent = queue::parent_of(node);
    tell_all(parent, [&](session_member& m) { m.on_node_event(kind, parent, queue::name_of(node)); });
}

} // namespace zklock::recipes
