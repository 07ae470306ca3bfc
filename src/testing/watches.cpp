#include "testing/watches.hpp"

#include <algorithm>
#include <memory>

namespace zklock::testing {

using store::event_kind;
using store::outcome;

answer watches::read(const znode_tree& tree, const request& r, bool exists_needs_read)
{
    answer a;
    const auto* const node = tree.find(r.path);
    const auto watch = [&](std::vector<std::string>& all) {
        if (r.watch && std::ranges::find(all, r.path) == all.end())
            all.push_back(r.path);
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
            watch(nodes);
        break;
    case operation::get:
        if (show(reads)) {
            a.data = node->data;
            watch(nodes);
        }
        break;
    case operation::children:
        if (show(reads)) {
            a.names = tree.children(r.path);
            watch(children);
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
        if (std::erase(nodes, r.path) + std::erase(children, r.path) == 0)
            a.result = outcome::no_watcher;
        break;
    default: break;
    }
    return a;
}

bool watches::use_up(event_kind what, const std::string& path)
{
    std::size_t used = 0;
    if (what != event_kind::children_changed)
        used += std::erase(nodes, path);
    if (what == event_kind::children_changed || what == event_kind::deleted)
        used += std::erase(children, path);
    return used != 0;
}

} // namespace zklock::testing
