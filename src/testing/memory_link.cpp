#include "testing/memory_link.hpp"

#include <algorithm>
#include <memory>

namespace zklock::testing {

using store::event_kind;
using store::outcome;

answer memory_link::read(const znode_tree& tree, const request& r, bool exists_needs_read)
{
    answer a;
    const auto* const node = tree.find(r.path);
    const auto watch = [&](std::vector<std::string>& watches) {
        if (r.watch && std::ranges::find(watches, r.path) == watches.end())
            watches.push_back(r.path);
    };
    const auto show = [&](bool allowed) {
        a.result = !node ? outcome::no_node : !allowed ? outcome::no_auth : outcome::ok;
        if (a.result == outcome::ok)
            a.stat = znode_tree::stat(*node);
        return a.result == outcome::ok;
    };
    const bool reads = node && node->allowed.read, administers = node && node->allowed.admin;
    switch (r.what) {
    case operation::exists: // of what is not there, everybody is told
        if (show(reads || !exists_needs_read) || !node)
            watch(watched_);
        break;
    case operation::get:
        if (show(reads)) {
            a.data = node->data;
            watch(watched_);
        }
        break;
    case operation::children:
        if (show(reads)) {
            a.names = tree.children(r.path);
            watch(children_watched_);
        }
        break;
    case operation::get_acl:
        if (!show(reads || administers))
            break;
        a.access = node->access ? node->access : std::make_shared<const access_list>();
        if (!administers)
            a.access = std::make_shared<const access_list>(without_hashes(*a.access));
        break;
    case operation::unwatch:
        if (std::erase(watched_, r.path) + std::erase(children_watched_, r.path) == 0)
            a.result = outcome::no_watcher;
        break;
    default: break;
    }
    return a;
}

bool memory_link::uses_up_watch(event_kind what, const std::string& path)
{
    std::size_t used = 0;
    if (what != event_kind::children_changed)
        used += std::erase(watched_, path);
    if (what == event_kind::children_changed || what == event_kind::deleted)
        used += std::erase(children_watched_, path);
    return used != 0;
}

} // namespace zklock::testing
