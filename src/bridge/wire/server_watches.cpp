#include "bridge/wire/server_watches.hpp"
#include "bridge/wire/delivery.hpp"

namespace zklock::bridge {

void server_watches::asked(request& r, const std::string& path, watch_kind what)
{
    r.watched = &*nodes_.try_emplace(path).first;
    r.watch = what;
    ++r.watched->second.asked;
}

/// Where the outcome is unknown, there may be a watch, too.
void server_watches::answered(const request& r, store::outcome result) noexcept
{
    const bool done = result == store::outcome::ok;
    if (r.watched) {
        auto& state = r.watched->second;
        --state.asked;
        const bool armed = done || (r.arms_if_missing && result == store::outcome::no_node);
        if (armed || result == store::outcome::unknown)
            state.kinds |= static_cast<std::uint8_t>(r.watch);
        else if (state.kinds == 0)
            forget_if_idle(nodes_.find(r.watched->first));
    } else if (done && !r.unwatched.empty()) {
        if (const auto at = nodes_.find(r.unwatched); at != nodes_.end()) {
            at->second.kinds = 0;
            forget_if_idle(at);
        }
    }
}

/// A deletion uses up both watches of a node, and is told once; a change leaves the other one armed. A node that is
/// created had only the one.
void server_watches::fired(std::string_view path, store::event_kind what) noexcept
{
    const auto at = nodes_.find(path);
    if (at == nodes_.end())
        return;
    auto& kinds = at->second.kinds;
    if (what == store::event_kind::children_changed)
        kinds &= static_cast<std::uint8_t>(watch_kind::data);
    else if (what == store::event_kind::data_changed)
        kinds &= static_cast<std::uint8_t>(watch_kind::children);
    else
        kinds = 0;
    forget_if_idle(at);
}

void server_watches::forget_if_idle(watches::iterator at) noexcept
{
    if (at->second.kinds == 0 && at->second.asked == 0)
        nodes_.erase(at);
}

} // namespace zklock::bridge
