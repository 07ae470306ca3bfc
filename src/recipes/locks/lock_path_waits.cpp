// What is told of waits that time out: who is before them.
#include "recipes/locks/lock_path.hpp"

#include "queue/node_name.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace zklock::recipes {

/// A look that is not answered in this epoch is of no use to anybody.
void lock_path::forget_look() noexcept
{
    if (look_)
        look_->withdraw();
    look_.reset();
}

void lock_path::look_at_holder(const lock_contender& contender)
{
    if (!contender.waiting() || !session_.connected)
        return;
    const std::string_view holder = queue_.before(contender.id, 0).first;
    if (holder.empty() || (look_ && look_->child() == holder))
        return;
    const auto look = std::make_shared<holder_look>(session_, path_, std::string(holder), options_.rules);
    forget_look();
    look_ = look;
    session_.requests.enter(look);
}

known_wait lock_path::describe_wait(const lock_contender& contender) const
{
    known_wait report;
    report.path = path_;
    const auto before = queue_.before(contender.id, wait_report::most_counted);
    report.others = before.excluded;
    report.before_us = before.count;
    if (queue_.own().stands_on(contender.id, {}))
        report.node = full(queue_.own().node(contender.id));
    if (before.first.empty())
        return report;
    if (look_ && look_->child() == before.first && look_->found()) {
        report.held_by = look_->found();
        return report;
    }
    const auto name = options_.rules.parse(before.first);
    zklock::contender& holder = report.held_by.emplace();
    holder.node = full(before.first);
    holder.ours = queue_.contender_of(before.first) != 0;
    if (name) {
        holder.sequence = name->sequence;
        holder.shared = queue::is_shared(name->kind);
    }
    return report;
}

} // namespace zklock::recipes
