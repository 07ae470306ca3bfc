#include "recipes/locks/holder_report.hpp"

#include "queue/node_name.hpp"
#include "queue/those_before.hpp"
#include "recipes/locks/lock_path.hpp"
#include "recipes/session/node_owner.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

namespace zklock::recipes {

void holder_report::look_for(const lock_contender& contender)
{
    if (!contender.waiting() || !session_.connected())
        return;
    const std::string_view holder = queue::before(queue_.known(), contender.id, 0).first;
    const holder_look* const last = look_.get();
    if (holder.empty() || (last && last->given() == holder && look_.is_new(session_.scheduler.now())))
        return;
    look_.begin(session_,
                std::make_shared<holder_look>(session_, lock_.path(), std::string(holder), lock_.options().rules));
}

/// Of those listed, how many are before that node of ours.
std::size_t holder_report::count_before(const std::string& own, const std::vector<std::string>& listed) const
{
    const queue::name_rules& rules = lock_.options().rules;
    const auto place = rules.sequence_of(own);
    const auto is_before = [&](const std::string& name) {
        const auto its = rules.sequence_of(name);
        return its && std::tie(*its, name) < std::tie(*place, own);
    };
    return std::min<std::size_t>(std::count_if(listed.begin(), listed.end(), is_before), wait_report::most_counted);
}

known_wait holder_report::describe_wait(const lock_contender& contender) const
{
    known_wait report;
    report.path = lock_.path();
    const auto before = queue::before(queue_.known(), contender.id, wait_report::most_counted);
    report.others = before.excluded;
    report.before_us = before.count;
    if (queue_.own().stands_on(contender.id, {}))
        report.node = lock_.full(queue_.own().node(contender.id));
    if (before.first.empty())
        return report;
    const holder_look* const last = look_.get();
    const holder_look* const look = last && last->given() == before.first ? last : nullptr;
    const bool listed = look && !look->listed().empty();
    const std::string own = report.node.empty() ? std::string() : queue_.own().node(contender.id);
    const std::string holder(listed ? look->child() : before.first);
    if (listed && !own.empty())
        report.before_us = count_before(own, look->listed());
    if (holder.empty() || holder == own)
        return report;
    if (look && look->found()) {
        report.held_by = look->found();
    } else {
        report.held_by = contender_by_name(lock_.full(holder), lock_.options().rules.parse(holder));
        report.held_by->ours = queue_.known().contender_of(holder) != 0;
    }
    return report;
}

} // namespace zklock::recipes
