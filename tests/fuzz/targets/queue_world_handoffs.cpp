// What clients tell each other past the server: the fifth part of queue_world.
#include "queue_world.hpp"

namespace zklock::fuzz {

/// Somebody says of a node that it will serve nobody any more, and it is so: nobody can say it but its owner.
void queue_world::certify()
{
    const auto chosen = in_.below(8);
    const auto at = in_.byte();
    const auto one_of = [at](const auto& all) {
        return std::next(all.begin(), static_cast<std::ptrdiff_t>(at % all.size()));
    };
    if (chosen < 3 && !tree_.children.empty())
        certify(one_of(tree_.children)->first); // the server that is connected may lag behind
    else if (chosen < 5 && !known_.children.empty())
        certify(one_of(known_.children)->first); // it may have gone meanwhile
    else if (chosen < 7 && !let_go_.empty())
        certify(*one_of(let_go_)); // again
    else if (chosen == 7)
        certify(std::string(in_.line()));
}

void queue_world::certify(const std::string& node)
{
    if (is_ours(node))
        return certify_ours(node);
    // Of a writer's node its owner tells nobody once he reads on.
    if (kind_of(node) == queue_kind::writer && tree_.children.contains(queue::reader_name(node)))
        return;
    trace("somebody lets go of", node);
    let_go_.insert(node);
    const std::size_t passed_over = queue_.known().places().passed_over();
    if (queue_.certified(node))
        passed_.insert(node);
    require(!queue_.known().waits_behind(node), "nobody waits behind a node that was let go");
    require(!queue_.certified(node), "a node is let go once");
    require(queue_.known().places().passed_over() == passed_over, "a certificate grants nothing by itself");
}

/// It may have been told to others, who tell it to us; or it is nonsense. (Only where the queue takes it for ours: a
/// node of a lost create counts as another's until it is found, and nobody has its certificate.)
void queue_world::certify_ours(const std::string& node)
{
    if (!told_.contains(node) && queue_.known().contender_of(node) == 0)
        return;
    trace("somebody says that we let go of", node);
    require(!queue_.certified(node) || lists_lie_, "nobody else lets go of our nodes");
}

/// A list brings nobody back. After one, the queue is told again of those that it shows and that were let go, before
/// it decides.
void queue_world::certify_listed(const std::vector<std::string>& names)
{
    for (const std::string& name : names)
        require(lists_lie_ || !passed_.contains(name) || !queue_.known().waits_behind(name),
                "who was let go does not come back");
    if (!hands_off_ || in_.below(2) == 0)
        return;
    for (const std::string& name : names)
        if (let_go_.contains(name))
            certify(name);
}

/// Another client says that it waits for a node of ours.
void queue_world::await_ours()
{
    if (std::all_of(callers_.begin(), callers_.end(), [](const auto& c) { return c.second.nodes.empty(); }))
        return;
    trace("another client waits for one of ours");
    queue_.awaited();
    decide();
    require(queue_.own().lingering() == nullptr || !queue_.own().wanted().empty(),
            "no node lingers that others wait for");
}

/// By its name. Ours count, whatever others say.
bool queue_world::is_ours(const std::string& name) const
{
    const auto at = tree_.children.find(name);
    const bool made = at != tree_.children.end() && at->second.creator != 0;
    return made || told_.contains(name) ||
           std::any_of(callers_.begin(), callers_.end(), [&](const auto& c) { return c.second.nodes.contains(name); });
}

/// Whether the child waits, or holds, no more, and the queue was told so.
bool queue_world::is_let_go(const std::string& name, const node& n) const
{
    return n.creator == 0 && let_go_.contains(name);
}

/// A grant past nodes that were let go: others could have deleted its own, and it would have to hear that.
void queue_world::check_passes_over(const queue::action& a, const std::string& own) const
{
    require(a.over_let_go || !a.by_certificate, "only nodes that were let go are passed over");
    require(a.by_certificate == !queue_.known().places().passed_over_by(a.id).empty(),
            "the first that passes over a node is known");
    if (!a.over_let_go || lists_lie_)
        return;
    require(!let_go_.empty() && in_contact_, "nodes that were let go are passed over in contact with the server");
    const bool told = std::any_of(arriving_.begin(), arriving_.end(),
                                  [&](const arrival& each) { return !each.answered && each.node == own; });
    require(watched_.contains(own) || told || listed_.contains(own), "by one that hears of its own node's end");
}

} // namespace zklock::fuzz
