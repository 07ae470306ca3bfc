// What must hold where clients tell each other what they let go: a part of checker.
#include "checker.hpp"
#include "peer_network.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace zklock::simulator {

bool lacks_own_watch(const ensemble& e, const simulated_store& store, const std::string& node, instant told)
{
    const auto* const found = e.leaders_tree().find(node);
    // A change of its data uses the watch up, and the news may be under way.
    if (found == nullptr || found->version != 0 || !store.undisturbed() || store.was_listed(node, told))
        return false;
    const auto watches = e.watches();
    return std::none_of(watches.begin(), watches.end(),
                        [&](const auto& w) { return w.session == found->owner && w.path == node; });
}

void checker::let_go(std::string_view uuid)
{
    let_go_.emplace(uuid);
    for (const auto& c : records_) {
        const bool has_it = c.now == contender_record::phase::holding || c.now == contender_record::phase::lost;
        if (has_it && uuid_in(c.given.node) == uuid)
            world_.violate(label(c) + ": let go, and it has not been released");
    }
}

/// Whoever has been told of the release of all nodes of others before its own does not wait for the servers to do it.
void checker::check_waiting()
{
    const auto& tree = ensemble_.leaders_tree();
    for (unsigned p = 0; p < plan_.set.paths; ++p) {
        std::map<std::int64_t, std::pair<std::string, std::int64_t>> others; // by number
        for (const auto& name : tree.children(path_of(p))) {
            const auto node = path_of(p) + '/' + name;
            if (const auto number = contender_sequence(name))
                others[*number] = {node, tree.find(node)->owner};
        }
        for (auto own = others.begin(); own != others.end(); ++own) {
            const auto* const c = owner_of(own->second.first);
            const bool waits = c != nullptr && c->now == contender_record::phase::waiting;
            const bool all_told =
                own != others.begin() && waits && c->store->undisturbed() &&
                std::all_of(others.begin(), own, [&](const auto& o) {
                    return o.second.second != own->second.second && told_let_go(c->client, o.second.first);
                });
            if (!all_told) {
                free_to_go_.erase(own->second.first);
                continue;
            }
            const auto since = free_to_go_.emplace(own->second.first, world_.time.now()).first->second;
            if (world_.time.now() > since + instant(plan_.set.a_while()))
                world_.violate(label(*c) + ": waits, though all before it were let go, and it was told so");
        }
    }
}

} // namespace zklock::simulator
