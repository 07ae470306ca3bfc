#include "testing/memory_link.hpp"

#include <algorithm>
#include <memory>

namespace zklock::testing {

using store::event_kind;
using store::outcome;

answer memory_link::read(const znode_tree& tree, const request& r)
{
    answer a;
    const auto* const node = tree.find(r.path);
    const auto watch = [&](std::vector<std::string>& watches) {
        if (r.watch && std::ranges::find(watches, r.path) == watches.end())
            watches.push_back(r.path);
    };
    const auto found = [&] {
        if (node)
            a.stat = znode_tree::stat(*node);
        a.result = !node                    ? outcome::no_node
                   : !node->allowed.read ? outcome::no_auth
                                            : outcome::ok;
        return a.result == outcome::ok;
    };
    switch (r.what) {
    case operation::exists: // everybody is told of any node
        if (!found() && node)
            a.result = outcome::ok;
        watch(watched_);
        break;
    case operation::get:
        if (found()) {
            a.data = node->data;
            watch(watched_);
        }
        break;
    case operation::children:
        if (found()) {
            a.names = tree.children(r.path);
            watch(children_watched_);
        }
        break;
    case operation::get_acl:
        if (found())
            a.access = node->access ? node->access : std::make_shared<const access_list>();
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
