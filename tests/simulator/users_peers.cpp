// What users do and what must hold where clients tell each other what they let go: a part of acquisition_users.
#include "users.hpp"

#include "contender_names.hpp"

namespace zklock::simulator {

namespace {

/// Whether a grant that comes before the servers have done the release leaves its holder without news of the end of its
/// own node.
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

} // namespace

void acquisition_users::use_registers(client& c, use& u)
{
    if (!uses_registers())
        return;
    // A use that is granted again, as candidates are, is another turn: and what was done to it then still counts.
    const auto same = [&u, at = u.granted_at] { return u.granted_at == at && !u.given.empty(); };
    const auto excused_then = [this, &u, same, session = u.store->session_id(), given = u.given] {
        return was_harmed(session, given) || (same() && excused(u));
    };
    for (const auto& l : u.given) {
        for (const auto path : u.paths) {
            if (l.path != path_of(path))
                continue;
            registers_.granted({u.tag, &c, path, l.node, u.wish.choice, u.wish.duration,
                                [&u, same] { return same() && u.believes(); }, excused_then,
                                [this, &u, path] { return shares(u, path); }});
        }
    }
}

/// Of those of other sessions before it that it cannot share with, all are gone, or their owners have told it so.
void acquisition_users::check_before(use& u, const held_lock& l, unsigned path)
{
    const auto& tree = stage_.ensemble.leaders_tree();
    const auto* const node = tree.find(l.node);
    const auto number = contender_sequence(queue::name_of(l.node));
    if (node == nullptr || !number)
        return;
    std::optional<instant> overtakes; ///< somebody, whose word came then: the last of them
    for (const auto& name : tree.children(l.path)) {
        const auto other = contender_sequence(name);
        const auto other_node = l.path + '/' + name;
        if (!other || *other >= *number)
            continue;
        if (is_out_of_turn(other_node) || (is_reader(name) && reads(u, path)))
            continue;
        if (tree.find(other_node)->owner == node->owner)
            continue;
        if (const auto told = stage_.told_let_go(u.client, other_node))
            overtakes = std::max(overtakes.value_or(*told), *told);
        else if (!was_unaware(u))
            violate(u, "granted too early, " + name + " of another session is lower");
    }
    stage_.world.overtaking_grants += overtakes.has_value();
    // It has what its owner held before; its node may have become a reader's since, and keeps its token.
    const bool joins = std::any_of(uses_.begin(), uses_.end(), [&](const use& o) {
        return &o != &u && o.has_it() && o.owner != 0 && o.owner == u.owner && o.paths == u.paths &&
               o.given.front().fencing_token == l.fencing_token;
    });
    // Parts of several locks were granted earlier, perhaps on another connection.
    if (overtakes && !joins && u.given.size() == 1 && lacks_own_watch(stage_.ensemble, *u.store, l.node, *overtakes))
        violate(u, "granted by a certificate, and its own node is not watched");
}

void acquisition_users::let_go(std::string_view uuid)
{
    registers_.let_go(uuid);
    for (const auto& u : uses_) {
        for (const auto& l : u.given) {
            // Of several locks the others are given back when one is lost.
            const bool has_it = u.now == use::phase::holding || (u.now == use::phase::lost && u.given.size() == 1);
            if (has_it && uuid_in(l.node) == uuid)
                violate(u, l.node + " is let go, and it has not been released");
        }
    }
}

} // namespace zklock::simulator
