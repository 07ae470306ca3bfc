// Nodes of others that were let go, and grants over them: the seventh part of lock_queue.
#include "queue/lock_queue.hpp"

#include "queue/node_name.hpp"

#include <algorithm>
#include <iterator>

namespace zklock::queue {

bool lock_queue::certified(std::string_view node)
{
    const auto sequence = names_.sequence_of(node);
    if (!sequence)
        return false;
    const place_name where{*sequence, node};
    const auto found = view_.find(where);
    if (found == view_.end() || found->first.sequence != *sequence || found->second != 0)
        return false;
    const contender_kind its = found->first.kind;
    let_go_.insert(view_.extract(found));
    may_have_read_on(its);
    if (!just_listed_)
        doubt_unwatched_before(where);
    return true;
}

/// Whether nodes that were let go stand before it, and would be in its way if they counted.
bool lock_queue::stands_over_let_go(const contender& c) const
{
    if (let_go_.empty())
        return false;
    const auto in_its_way = [&c](const auto& known) { return excludes(known.first.kind, c.kind); };
    return std::any_of(let_go_.begin(), let_go_.lower_bound(c.spot->first), in_its_way);
}

bool lock_queue::watches_own(const contender& c) const
{
    const auto own = watches_.find(node_of(c));
    return own != watches_.end() && own->second == watch_state::armed;
}

/// Whether the contender may be granted over the nodes before it that were let go, if there are any: its own was seen
/// right now, or it has to hear when others delete it. Nobody could tell it so without a connection.
bool lock_queue::may_pass_over(std::vector<action>& actions, const contender& c)
{
    if (!stands_over_let_go(c))
        return true;
    if (!connected_)
        return false;
    const bool listed = answered_stamp_ > c.create_stamp;
    if (listed && just_listed_)
        return true;
    if (!watches_own(c))
        arm(actions, node_of(c));
    return watches_own(c);
}

/// The contender was granted. Says whether it is the first over a node that was let go.
bool lock_queue::pass_over(const contender& c)
{
    bool first = false;
    if (let_go_.empty())
        return first;
    const auto end = let_go_.lower_bound(c.spot->first);
    for (auto known = let_go_.begin(); known != end; ++known)
        if (known->second == 0 && excludes(known->first.kind, c.kind)) {
            known->second = c.id;
            first = true;
        }
    return first;
}

std::size_t lock_queue::passed_over() const noexcept
{
    const auto counts = [](const auto& known) { return known.second != 0; };
    return static_cast<std::size_t>(std::count_if(let_go_.begin(), let_go_.end(), counts));
}

std::string_view lock_queue::passed_over_by(contender_id id) const noexcept
{
    const auto found =
        std::find_if(let_go_.rbegin(), let_go_.rend(), [id](const auto& known) { return known.second == id; });
    return found == let_go_.rend() ? std::string_view() : found->first.node;
}

bool lock_queue::waits_behind(std::string_view node) const
{
    if (ours_.queued().empty())
        return false;
    const auto known = view_.find(place_name{names_.sequence_of(node).value_or(0), node});
    return known != view_.end() && known->second == 0 && known->first < ours_.queued().last().spot->first;
}

std::vector<std::string> lock_queue::others_before_ours(std::size_t most) const
{
    std::vector<std::string> found;
    if (ours_.queued().empty())
        return found;
    const view::const_iterator first = ours_.queued().begin()->spot;
    for (auto known = std::make_reverse_iterator(first); known != view_.rend() && found.size() < most; ++known)
        if (known->second == 0)
            found.push_back(known->first.node);
    return found;
}

} // namespace zklock::queue
