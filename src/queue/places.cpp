#include "queue/places.hpp"

#include <algorithm>
#include <iterator>

namespace zklock::queue {

bool places::is_anothers(std::string_view node) const
{
    const auto known = find(node);
    return known != live_.end() && known->second == 0;
}

void places::give(contender& c, std::string_view node, std::int32_t sequence)
{
    if (!spare_) {
        view fresh;
        fresh.emplace(place{}, 0);
        spare_ = fresh.extract(fresh.begin());
    }
    place& where = spare_.key();
    if (where.node.capacity() < node.size())
        where.node.swap(c.prefix); // which may have room for the number, too
    c.prefix.clear();
    where.node = node;
    where.sequence = sequence;
    where.kind = c.kind;
    c.spot = live_.insert(live_.end(), std::move(spare_)); // if it is there already, as another's, it becomes ours
    c.spot->second = c.id;
}

void places::rename_as_reader(contender& c, std::string reader)
{
    place as_reader{c.spot->first.sequence, std::move(reader), contender_kind::reader};
    auto moved = live_.extract(c.spot);
    moved.key() = std::move(as_reader);
    c.spot = live_.insert(std::move(moved)).position;
    c.spot->second = c.id;
}

void places::clear() noexcept
{
    live_.clear();
    left_.clear();
    let_go_.clear();
}

bool places::stands_over_let_go(const contender& c) const
{
    if (let_go_.empty())
        return false;
    const auto in_its_way = [&c](const auto& known) { return excludes(known.first.kind, c.kind); };
    return std::any_of(let_go_.begin(), let_go_.lower_bound(c.spot->first), in_its_way);
}

bool places::pass_over(const contender& c)
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

std::size_t places::passed_over() const noexcept
{
    const auto counts = [](const auto& known) { return known.second != 0; };
    return static_cast<std::size_t>(std::count_if(let_go_.begin(), let_go_.end(), counts));
}

std::string_view places::passed_over_by(contender_id id) const noexcept
{
    const auto found =
        std::find_if(let_go_.rbegin(), let_go_.rend(), [id](const auto& known) { return known.second == id; });
    return found == let_go_.rend() ? std::string_view() : found->first.node;
}

} // namespace zklock::queue
