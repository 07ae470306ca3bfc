#include "bridge/wire/server_watches.hpp"
#include "bridge/wire/delivery.hpp"

#include <utility>

namespace zklock::bridge {

/// Where the outcome is unknown, there may be a watch, too.
void server_watches::answered(request& r, store::outcome result)
{
    const bool done = result == store::outcome::ok;
    if (r.takes_watches_back && done)
        nodes_.erase(r.path);
    else if (r.watch != watch_kind::none &&
             (done || result == store::outcome::unknown || (r.arms_if_missing && result == store::outcome::no_node)))
        nodes_[std::move(r.path)] |= static_cast<std::uint8_t>(r.watch);
}

/// A deletion uses up both watches of a node, and is told once; a change leaves the other one armed. A node that is
/// created had only the one.
void server_watches::fired(std::string_view path, store::event_kind what) noexcept
{
    const auto at = nodes_.find(path);
    if (at == nodes_.end())
        return;
    auto& kinds = at->second;
    if (what == store::event_kind::children_changed)
        kinds &= static_cast<std::uint8_t>(watch_kind::data);
    else if (what == store::event_kind::data_changed)
        kinds &= static_cast<std::uint8_t>(watch_kind::children);
    else
        kinds = 0;
    if (kinds == 0)
        nodes_.erase(at);
}

} // namespace zklock::bridge
