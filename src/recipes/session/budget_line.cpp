#include "recipes/session/budget_line.hpp"

#include "recipes/session/session.hpp"

namespace zklock::recipes {

auto budget_line::reserve(std::size_t bytes, bool first_of_path) -> verdict
{
    // The member that has waited longest comes first, even if another has just freed some of its own.
    if (!first_of_path && !waiting_.empty())
        return verdict::wait;
    if (used_ + bytes > (first_of_path ? session_.options.node_budget_limit : session_.options.node_budget))
        return first_of_path ? verdict::exhausted : verdict::wait;
    used_ += bytes;
    return verdict::granted;
}

void budget_line::release(std::size_t bytes)
{
    used_ -= bytes;
    share_soon();
}

void budget_line::wait(session_member& member)
{
    waiting_.push_back(&member);
}

void budget_line::leave(session_member& member)
{
    if (std::erase(waiting_, &member) != 0)
        share_soon();
}

void budget_line::forget(session_member& member) noexcept
{
    std::erase(waiting_, &member);
}

void budget_line::share_soon()
{
    if (waiting_.empty() || shares_soon_)
        return;
    session_.news().tell([this] {
        shares_soon_ = false;
        share();
    });
    shares_soon_ = true;
}

/// One after the other may send one create, and waits again when that was not the last one.
void budget_line::share()
{
    for (std::size_t n = waiting_.size(); n != 0 && !waiting_.empty(); --n) {
        session_member* const member = waiting_.front();
        waiting_.pop_front();
        member->budget_freed();
    }
    session_.writes().proceed();
}

} // namespace zklock::recipes
