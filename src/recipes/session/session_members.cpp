// Who is in a session: whom it tells of nodes, and who waits for room in the node budget.
#include "recipes/session/session.hpp"

#include "queue/node_path.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace zklock::recipes {

void session::add(session_member& member)
{
    member.place_ = members_.insert(members_.end(), &member);
}

void session::remove(session_member& member)
{
    members_.erase(member.place_);
    std::erase(wanting_budget_, &member);
    lease.forget(member);
}

void session::listen(std::string_view path, session_member& member)
{
    listeners_.emplace(path, &member);
}

bool session::stop_listening(std::string_view path, session_member& member, bool watched)
{
    const auto [first, last] = listeners_.equal_range(path);
    const auto own = std::find_if(first, last, [&](const auto& entry) { return entry.second == &member; });
    if (own != last)
        listeners_.erase(own);
    if (!listeners_.contains(path))
        return forget_left_watch(path) || watched;
    if (watched && connected)
        left_watches_.emplace(path);
    return false;
}

bool session::forget_left_watch(std::string_view path) noexcept
{
    const auto left = left_watches_.find(path);
    if (left == left_watches_.end())
        return false;
    left_watches_.erase(left);
    return true;
}

bool session::leave_watch(std::string_view path)
{
    if (shares(path)) {
        left_watches_.emplace(path);
        return false;
    }
    forget_left_watch(path);
    return true;
}

bool session::hand_over_watch(std::string_view path)
{
    if (!listeners_.contains(path))
        return false;
    left_watches_.emplace(path);
    return true;
}

bool session::wanted(std::string_view node) const
{
    if (listeners_.contains(node))
        return true;
    const std::string_view parent = queue::parent_of(node);
    const auto [first, last] = listeners_.equal_range(parent);
    return std::any_of(first, last, [&](const auto& entry) {
        return entry.second->watches_child(parent, queue::name_of(node));
    });
}

bool session::owns_child(std::string_view path, std::string_view child) const
{
    const auto [first, last] = listeners_.equal_range(path);
    return lost_creates.knows(path, child) ||
           std::any_of(first, last, [&](const auto& entry) { return entry.second->owns_child(path, child); });
}

bool session::misses_child(std::string_view path, const std::set<std::string_view>& names) const
{
    const auto [first, last] = listeners_.equal_range(path);
    return std::any_of(first, last, [&](const auto& entry) { return entry.second->misses_child(path, names); });
}

/// Calls `tell` with each member that listens to the path. A member that is told may listen to something else then.
template <class F> void session::tell_listeners(std::string_view path, F tell)
{
    const auto [first, last] = listeners_.equal_range(path);
    if (first == last)
        return;
    if (std::next(first) == last)
        return tell(*first->second);
    std::vector<session_member*> several;
    std::transform(first, last, std::back_inserter(several), [](const auto& entry) { return entry.second; });
    for (session_member* member : several)
        tell(*member);
}

void session::on_node_event(store::event_kind kind, std::string_view node)
{
    const bool gone = kind == store::event_kind::deleted;
    if (const auto left = left_watches_.find(node); gone && left != left_watches_.end())
        left_watches_.erase(left); // used up
    const std::string_view parent = queue::parent_of(node);
    if (gone && owns_child(parent, queue::name_of(node)))
        own_writes.lost_to_others(node);
    if (gone)
        own_writes.all_lost_to_others(node);
    tell_listeners(node, [&](session_member& member) { member.on_own_event(kind, node); });
    tell_listeners(parent, [&](session_member& m) { m.on_node_event(kind, parent, queue::name_of(node)); });
}

// --- node budget -----------------------------------------------------------------------------------------------------

node_budget::verdict session::reserve(std::size_t bytes, bool first_of_path)
{
    // The member that has waited longest comes first, even if another has just freed some of its own.
    if (!first_of_path && !wanting_budget_.empty())
        return node_budget::verdict::wait;
    return budget_.reserve(bytes, first_of_path);
}

void session::release(std::size_t bytes)
{
    budget_.release(bytes);
    share_budget_soon();
}

void session::want_no_budget(session_member& member)
{
    if (std::erase(wanting_budget_, &member) != 0)
        share_budget_soon();
}

void session::share_budget_soon()
{
    if (wanting_budget_.empty() || budget_freed_)
        return;
    news.tell([this] {
        budget_freed_ = false;
        share_budget();
    });
    budget_freed_ = true;
}

void session::wait_for_budget(session_member& member)
{
    wanting_budget_.push_back(&member);
}

/// One after the other may send one create, and waits again when that was not the last one.
void session::share_budget()
{
    for (std::size_t n = wanting_budget_.size(); n != 0 && !wanting_budget_.empty(); --n) {
        session_member* const member = wanting_budget_.front();
        wanting_budget_.pop_front();
        member->budget_freed();
    }
    writes.proceed();
}

} // namespace zklock::recipes
