#include "herd.hpp"

#include "contender_names.hpp"
#include "queue/node_path.hpp"

#include <set>

namespace zklock::simulator {

herd_checker::herd_checker(world& w, const ensemble& e, const plan& p)
    : world_(w), ensemble_(e), patience_(p.set.a_while()), calm_(is_calm(p)), scarce_(p.set.may_run_short())
{
}

void herd_checker::check()
{
    if (!calm_)
        return;
    std::map<std::pair<std::int64_t, std::string>, std::set<std::string>> watched; // by session and directory
    std::map<std::string, std::set<std::int64_t>> watchers;
    const auto& tree = ensemble_.leaders_tree();
    for (const auto& w : ensemble_.watches()) {
        const auto* const node = tree.find(w.path);
        const bool ephemeral = node != nullptr && node->owner != 0 && node->owner != znode_tree::container_owner;
        if (!ephemeral || node->owner == w.session || users_watch(w.session, w.path))
            continue;
        watched[{w.session, std::string(queue::parent_of(w.path))}].insert(w.path);
        watchers[w.path].insert(w.session);
    }
    before_ = std::exchange(excess_, {});
    for (const auto& [of, nodes] : watched)
        count("session " + std::to_string(of.first) + " in " + of.second, nodes.size());
    for (const auto& [path, sessions] : watchers) {
        if (scarce_)
            break; // all who are held back wait for the same node
        if (sessions.size() <= 2)
            continue;
        const auto names = tree.children(std::string(queue::parent_of(path)));
        const bool shared = std::any_of(names.begin(), names.end(), is_reader); // readers all wait for the same writer
        if (!shared)
            count(path, sessions.size());
    }
}

void herd_checker::count(const std::string& what, std::size_t many)
{
    if (many <= 2)
        return;
    const auto found = before_.find(what);
    const auto since = found == before_.end() ? world_.time.now() : found->second;
    excess_.emplace(what, since);
    if (world_.time.now() > since + patience_)
        world_.violate(what + ": " + std::to_string(many) + " watches, and two would do");
}

} // namespace zklock::simulator
