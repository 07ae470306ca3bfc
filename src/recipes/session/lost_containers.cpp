#include "recipes/session/lost_containers.hpp"

#include "recipes/session/session.hpp"

#include <algorithm>

namespace zklock::recipes {

using store::outcome;

auto lost_containers::find(std::string_view path) noexcept -> std::list<entry>::iterator
{
    return std::ranges::find(all_, path, &entry::path);
}

void lost_containers::lost(const std::string& path)
{
    forget(path);
    all_.push_back({path, 0});
    if (all_.size() > most)
        all_.pop_front();
}

bool lost_containers::found(std::string_view path, std::int64_t czxid) const noexcept
{
    return std::ranges::any_of(all_, [&](const entry& e) { return e.path == path && e.czxid == czxid; });
}

void lost_containers::forget(std::string_view path) noexcept
{
    if (const auto known = find(path); known != all_.end())
        all_.erase(known);
}

void lost_containers::epoch_began()
{
    for (const entry& each : all_) {
        if (each.czxid != 0)
            continue;
        session_.catch_up().begin();
        session_.store.exists(each.path, false, [this, path = each.path](const store::stat_reply& answer) {
            if (answer.result == outcome::unknown)
                session_.contact_lost(); // it is done in the next epoch
            const auto known = find(path);
            if (known == all_.end() || known->czxid != 0)
                return;
            if (answer.result == outcome::ok)
                known->czxid = answer.stat.czxid;
            else if ((answer.result == outcome::no_node && session_.catch_up().done()) ||
                     answer.result == outcome::no_auth)
                all_.erase(known);
        });
    }
}

} // namespace zklock::recipes
