#include "queue/node_reuse.hpp"

namespace zklock::queue {

bool node_reuse::spares_a_node(const own_contenders& own) const
{
    if (allowed_.cohort <= 1 || own.with_node() == 0)
        return false;
    const bool last_of_cohort = own.with_node() == 1 && own.held().size() == 1 && own.held().begin()->cohort_left == 0;
    return !last_of_cohort;
}

bool node_reuse::may_stay(const known_queue& known, const contender& c) const
{
    const own_contenders& own = known.own();
    const bool others_of_ours =
        own.with_node() > 1 || !own.creating().empty() || !own.unknown().empty(); // some may be leaving
    if (!known.connected() || others_of_ours || c.further_grants == 0)
        return false;
    if (c.revoked || known.reads().only_known_of_old(c))
        return false;
    return (!own.wanted().empty() && c.cohort_left > 0) || undisturbed(known, c);
}

bool node_reuse::undisturbed(const known_queue& known, const contender& c) const
{
    if (!allowed_.linger)
        return allowed_.linger;
    if (known.parent().scarce())
        return false; // those who are held back would not be seen to queue
    const auto of_another = [](const auto& node) { return node.second == 0; };
    return !disturbed_ && std::none_of(view::const_iterator(c.spot), known.places().live().end(), of_another);
}

} // namespace zklock::queue
