// What the session tells a semaphore_path: epochs, events, losses.
#include "recipes/semaphore/semaphore_path.hpp"

#include <chrono>
#include <utility>

namespace zklock::recipes {

void semaphore_path::epoch_began()
{
    if (!unknown_.empty())
        look_up_ = look_up::due;
    to_watch_.clear();
    for (const auto& [id, node] : nodes_)
        if (std::exchange(node->watched, false) && node->owner)
            to_watch_.push_back(node);
    stale_ = true;
    advance();
}

void semaphore_path::epoch_ended()
{
    watching_ = watch_refused_ = false;
    count_.epoch_ended();
    look_up_ = look_up::none;
    if (holder_look_ && !holder_look_->found())
        forget_holder();
    for (const auto& acquisition : acquisitions())
        if (acquisition->waiting() && acquisition->looks_once())
            acquisition->fail(errc::not_connected);
    advance();
}

void semaphore_path::session_ended()
{
    for (const auto& acquisition : acquisitions()) {
        acquisition->lose();
        acquisition->note_setback(errc::session_expired);
        acquisition->nodes.clear(); // its lock went with the session, too: it will hear of that, and begin anew
    }
    while (!nodes_.empty()) {
        const permit_ptr node = nodes_.begin()->second;
        node->owner = nullptr;
        gone(node);
    }
    for (auto* list : {&to_create_, &to_remove_, &to_watch_, &unknown_})
        list->clear();
    by_name_.clear();
    advance();
}

void semaphore_path::session_overdue()
{
    for (const auto& [id, node] : nodes_)
        if (node->ending && node->ending->released)
            session_.news.tell([ending = node->ending] { ending->tell_released(); });
}

void semaphore_path::lease_lapsed()
{
    for (const auto& acquisition : acquisitions()) {
        acquisition->lose();
        acquisition->note_setback(errc::not_connected);
    }
    advance();
}

void semaphore_path::refuse_all(errc why)
{
    for (const auto& acquisition : acquisitions())
        acquisition->fail(why);
    advance();
}

void semaphore_path::stop(errc why)
{
    for (const auto& acquisition : acquisitions()) {
        acquisition->fail(why);
        acquisition->lose();
    }
    while (!nodes_.empty())
        gone(permit_ptr(nodes_.begin()->second), why);
}

bool semaphore_path::notice_long_holder(store::scheduler::time_point now)
{
    constexpr std::chrono::milliseconds long_hold{100};
    bool others = false;
    for (const auto& [id, acquisition] : acquisitions_) {
        if (!acquisition->holding())
            continue;
        if (now - acquisition->held_since() < long_hold) {
            others = true;
            continue;
        }
        for (const permit_ptr& node : acquisition->nodes)
            if (!std::exchange(node->watched, true))
                to_watch_.push_back(node);
    }
    advance();
    return others;
}

bool semaphore_path::watches_child(std::string_view path, std::string_view child) const
{
    if (path != layout_.permits)
        return false;
    const auto found = by_name_.find(std::string(child));
    return found != by_name_.end() && found->second->watched;
}

bool semaphore_path::owns_child(std::string_view path, std::string_view child) const
{
    const auto made_it = [&](const permit_ptr& node) { return layout_.made_from(node->asked, child); };
    return path == layout_.permits && (by_name_.contains(std::string(child)) ||
                                       std::any_of(unknown_.begin(), unknown_.end(), made_it));
}

bool semaphore_path::misses_child(std::string_view path, const std::set<std::string_view>& names) const
{
    return path == layout_.permits && std::any_of(by_name_.begin(), by_name_.end(), [&](const auto& known) {
        const bool wanted = known.second->owner && known.second->now == permit_node::phase::there;
        return wanted && !names.contains(known.first);
    });
}

void semaphore_path::on_own_event(store::event_kind kind, std::string_view path)
{
    if (path == layout_.permits && kind != store::event_kind::data_changed) {
        watching_ = false;
        stale_ = true;
    }
    if (count_.on_event(kind, path))
        stale_ = true;
    advance();
}

void semaphore_path::on_node_event(store::event_kind kind, std::string_view path, std::string_view child)
{
    if (path != layout_.permits)
        return;
    const auto found = by_name_.find(std::string(child));
    if (found == by_name_.end())
        return;
    const permit_ptr node = found->second;
    if (kind == store::event_kind::deleted)
        lost_to_others(node);
    else if (node->watched && node->owner)
        to_watch_.push_back(node); // that watch is used up
    advance();
}

} // namespace zklock::recipes
