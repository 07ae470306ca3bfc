#include "recipes/locks/holder_report.hpp"

#include "queue/node_name.hpp"
#include "queue/those_before.hpp"
#include "recipes/locks/lock_path.hpp"
#include "recipes/session/node_owner.hpp"

#include <algorithm>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>

namespace zklock::recipes {

void holder_report::look_for(const lock_contender& contender)
{
    if (!contender.waiting() || !session_.connected())
        return;
    const std::string_view holder = queue::before(queue_.known(), contender.id, 0).first;
    const holder_look* const last = look_.get();
    if (holder.empty() || (last && last->given() == holder && look_.is_new(session_.scheduler.now())))
        return;
    const queue::name_rules& rules = lock_.options().rules;
    const auto first_that_holds = [rules](const std::vector<std::string>& children) {
        const auto holders = rules.holders_of(children);
        return holders.empty() ? std::string() : holders.front();
    };
    look_.begin(session_,
                std::make_shared<holder_look>(session_, lock_.path(), std::string(holder), first_that_holds, rules));
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

// --- listeners -------------------------------------------------------------------------------------------------------

void holder_report::queued(lock_contender& its, std::string_view node)
{
    its.queued(node);
    if (its.place_untold())
        untold_.push_back(its.id);
}

/// Who has ended has been told.
void holder_report::drop_told()
{
    std::erase_if(untold_, [this](queue::contender_id id) {
        const auto* const its = contenders_.find(id);
        return !its || !(*its)->place_untold();
    });
}

void holder_report::tell()
{
    drop_told();
    for (const queue::contender_id id : untold_) {
        const auto [node, is_read] = predecessor_of(queue_.known(), id);
        if (node.empty() || is_read)
            continue;
        const auto* const own = contenders_.find(queue_.known().contender_of(node));
        zklock::contender before = contender_by_name(lock_.full(node), lock_.options().rules.parse(node));
        if (own)
            (*own)->describe(before);
        (*contenders_.find(id))->waits_behind(std::make_shared<const zklock::contender>(std::move(before)));
    }
    drop_told();
}

void holder_report::was_read(const std::string& node, const store::get_reply& answer)
{
    if (untold_.empty())
        return;
    drop_told();
    for (const queue::contender_id id : untold_)
        if (predecessor_of(queue_.known(), id).node == node)
            (*contenders_.find(id))
                ->waits_behind(std::make_shared<const zklock::contender>(
                    contender_as_read(session_, lock_.full(node), lock_.options().rules.parse(node), answer)));
}

} // namespace zklock::recipes
