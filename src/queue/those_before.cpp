#include "queue/those_before.hpp"

#include "queue/known_queue.hpp"

#include <algorithm>

namespace zklock::queue {
namespace {

/// Before it, all nodes that are not known to be gone are there: so one of ours knows, the first that waits.
view::const_iterator known_until(const known_queue& queue)
{
    const auto& queued = queue.own().queued();
    const bool known = !queued.empty() && queued.begin()->covered;
    return known ? view::const_iterator(queued.begin()->spot) : queue.places().live().begin();
}

/// Elsewhere a watch would tell that one is gone.
bool is_there(const known_queue& queue, const view::value_type& node, view::const_iterator until)
{
    return node.second != 0 || until == queue.places().live().end() || node.first < until->first ||
           queue.watches().is_watched(node.first.node);
}

/// The first node before `here` that keeps others out, or `here`: another client's, or of one of ours that holds.
/// `here` is the end for a contender without a place.
view::const_iterator first_obstacle(const known_queue& queue, view::const_iterator here, view::const_iterator until)
{
    return std::find_if(queue.places().live().begin(), here, [&](const auto& known) {
        return known.second != 0 ? queue.own().holds(known.second) : is_there(queue, known, until);
    });
}

/// Behind an obstacle a contender of ours that waits is in the way, too, even of a kind that the obstacle lets in: a
/// reader waits for our writer, who waits for a reader of another client's.
bool excluded_before(const known_queue& queue, view::const_iterator here, view::const_iterator until,
                     contender_kind kind)
{
    return std::any_of(first_obstacle(queue, here, until), here, [&](const auto& known) {
        return excludes(known.first.kind, kind) && is_there(queue, known, until);
    });
}

} // namespace

those_before before(const known_queue& queue, contender_id id, std::size_t most_counted)
{
    those_before found;
    const auto& all = queue.own().all();
    const auto waiting = all.find(id);
    if (waiting == all.end())
        return found;
    const view& live = queue.places().live();
    const phase now = waiting->second.now;
    const bool has_place = now == phase::queued || now == phase::inspecting;
    const view::const_iterator here = has_place ? view::const_iterator(waiting->second.spot) : live.end();
    const view::const_iterator until = has_place && waiting->second.covered ? here : known_until(queue);
    if (const auto obstacle = first_obstacle(queue, here, until); obstacle != here && obstacle == live.begin())
        found.first = obstacle->first.node;
    found.excluded = excluded_before(queue, here, until, waiting->second.kind);
    for (auto known = live.begin(); known != here && found.count < most_counted; ++known)
        ++found.count;
    if (has_place)
        return found;
    for (auto other = all.begin(); other != waiting && found.count < most_counted; ++other) {
        const phase its = other->second.now;
        const bool wants_a_node = its == phase::wanted || its == phase::creating || its == phase::unknown;
        found.count += wants_a_node && !other->second.abandoned;
    }
    return found;
}

predecessor predecessor_of(const known_queue& queue, contender_id id)
{
    const auto& all = queue.own().all();
    const auto waiting = all.find(id);
    if (waiting == all.end() || waiting->second.now != phase::queued || queue.seeks_coverage())
        return {};
    const contender& c = waiting->second;
    const auto read = [&](const view::value_type& known) {
        return known.second == 0 && queue.own().queued().begin()->id == id &&
               !queue.watches().was_read(known.first.node);
    };
    for (auto known = view::const_iterator(c.spot); known != queue.places().live().begin();)
        if (excludes((--known)->first.kind, c.kind))
            return {known->first.node, read(*known)};
    return {};
}

bool excludes_newcomers(const known_queue& queue, contender_kind kind)
{
    return excluded_before(queue, queue.places().live().end(), known_until(queue), kind);
}

} // namespace zklock::queue
