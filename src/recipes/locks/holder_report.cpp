#include "recipes/locks/holder_report.hpp"

#include "queue/node_name.hpp"
#include "queue/those_before.hpp"
#include "recipes/locks/lock_path.hpp"
#include "recipes/session/node_owner.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace zklock::recipes {

/// A look that is not answered in this epoch is of no use to anybody.
void holder_report::epoch_ended() noexcept
{
    if (look_ && !look_->found())
        forget_look();
}

void holder_report::forget_look() noexcept
{
    if (look_)
        look_->withdraw();
    look_.reset();
}

void holder_report::look_for(const lock_contender& contender)
{
    if (!contender.waiting() || !session_.connected())
        return;
    const std::string_view holder = queue::before(queue_.known(), contender.id, 0).first;
    if (holder.empty() || (look_ && look_->child() == holder))
        return;
    const auto look = std::make_shared<holder_look>(session_, lock_.path(), std::string(holder), lock_.options().rules);
    forget_look();
    look_ = look;
    session_.requests().enter(look);
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
    if (look_ && look_->child() == before.first && look_->found()) {
        report.held_by = look_->found();
        return report;
    }
    report.held_by = contender_by_name(lock_.full(before.first), lock_.options().rules.parse(before.first));
    report.held_by->ours = queue_.known().contender_of(before.first) != 0;
    return report;
}

} // namespace zklock::recipes
