#include "queue/parent_node.hpp"

namespace zklock::queue {

bool parent_node::watch(std::vector<action>& actions)
{
    if (data_ == watch_state::off) {
        data_ = watch_state::arming;
        actions.push_back({action::kind::watch_parent, 0, {}});
    }
    return data_ != watch_state::arming;
}

bool parent_node::has_to_watch_children() noexcept
{
    if (children_ != watch_state::off)
        return false;
    children_ = watch_state::arming;
    return true;
}

void parent_node::looked_at(const look& seen)
{
    data_ = watch_state::armed; // also when an earlier answer said that there was none yet
    note_ever(seen.ever);
    last_look_ = seen;
}

void parent_node::watch_failed() noexcept
{
    if (data_ == watch_state::arming)
        data_ = watch_state::off;
}

void parent_node::changed() noexcept
{
    data_ = watch_state::off;
    last_look_.reset();
    dense_ = false;
}

void parent_node::refused() noexcept
{
    refused_watch_ = watched();
    for (watch_state* const watch : {&data_, &children_})
        if (*watch == watch_state::armed) // an answer that is still due comes after the refusal
            *watch = watch_state::off;
    last_look_.reset();
    dense_ = false;
}

void parent_node::forget() noexcept
{
    last_look_.reset();
    data_ = children_ = watch_state::off;
    refused_watch_ = false;
    dense_ = false;
}

void parent_node::epoch_ended() noexcept
{
    if (next_number_ >= numbers_end)
        next_number_ = 0; // only a number of our own would tell that it is another meanwhile
}

void parent_node::know_through(std::int32_t ever, bool connected) noexcept
{
    const bool parent_known = data_ == watch_state::armed;
    if (!parent_known || !connected)
        return;
    dense_ = true;
    known_through_ = ever - 1;
    numbers_used_ = 0;
}

void parent_node::made_again() noexcept
{
    dense_ = false;
    last_look_.reset();
}

bool parent_node::gave(std::int32_t sequence, bool connected) noexcept
{
    next_number_ = std::int64_t{static_cast<std::uint32_t>(sequence)} + 1;
    // No number follows the largest.
    const bool follows = sequence >= 0 && sequence - 1 - numbers_used_ == known_through_;
    const bool next_one = dense_ && follows;
    if (next_one) {
        known_through_ = sequence;
        numbers_used_ = 0;
    } else if (sequence == 0 && data_ == watch_state::armed) {
        know_through(1, connected);
    }
    return next_one || sequence == 0; // nothing can be lower
}

void parent_node::note_ever(std::int32_t ever) noexcept
{
    if (next_number_ < numbers_end)
        next_number_ = ever;
}

} // namespace zklock::queue
