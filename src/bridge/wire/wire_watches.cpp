// The watches of a connection: noted when they are asked for, until they have fired, so that none outlives it.
#include "bridge/wire/wire.hpp"
#include "bridge/wire/wire_library.hpp"

#include <cstdint>
#include <string_view>

namespace zklock::bridge {

/// Takes note of the watch that a request asks for, which is about to be sent.
void wire::watch(request& r, const std::string& full, watch_kind what)
{
    r.watched = &*watched_.try_emplace(full).first;
    r.watch = what;
    ++r.watched->second.asked;
}

/// Where the outcome is unknown, there may be a watch, too.
void wire::watch_answered(const request& r, store::outcome result) noexcept
{
    const bool done = result == store::outcome::ok;
    if (r.watched) {
        auto& state = r.watched->second;
        --state.asked;
        const bool armed = done || (r.arms_if_missing && result == store::outcome::no_node);
        if (armed || result == store::outcome::unknown)
            state.kinds |= static_cast<std::uint8_t>(r.watch);
        else if (state.kinds == 0)
            forget_if_idle(watched_.find(r.watched->first));
    } else if (done && !r.unwatched.empty()) {
        if (const auto at = watched_.find(r.unwatched); at != watched_.end()) {
            at->second.kinds = 0;
            forget_if_idle(at);
        }
    }
}

/// The library would set them all again on the next connection, in one packet that may be more than a server takes.
void wire::forget_watches()
{
    if (handle_)
        for (const auto& [path, state] : watched_)
            zoo_aremove_all_watches(handle_, path.c_str(), ZWATCHTYPE_ANY, 1, nullptr, nullptr);
    watched_.clear();
}

/// A deletion uses up both watches of a node, and is told once; a change leaves the other one armed. A node that is
/// created had only the one.
void wire::watch_fired(const char* path, int type)
{
    const auto at = watched_.find(std::string_view(path));
    if (at == watched_.end())
        return;
    auto& kinds = at->second.kinds;
    if (type == ZOO_CHILD_EVENT)
        kinds &= static_cast<std::uint8_t>(~static_cast<std::uint8_t>(watch_kind::children));
    else if (type == ZOO_CHANGED_EVENT)
        kinds &= static_cast<std::uint8_t>(~static_cast<std::uint8_t>(watch_kind::data));
    else
        kinds = 0;
    forget_if_idle(at);
}

void wire::forget_if_idle(watches::iterator at) noexcept
{
    if (at->second.kinds == 0 && at->second.asked == 0)
        watched_.erase(at);
}

} // namespace zklock::bridge
