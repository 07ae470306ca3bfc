#include "queue/readings.hpp"

namespace zklock::queue {

void readings::send(std::vector<action>& actions, action::kind how, bool looks_up)
{
    sent_ = ++stamp_;
    reads_.push_back({sent_, looks_up, how == action::kind::watch_children});
    if (looks_up)
        actions.push_back({action::kind::synchronize, 0, {}});
    actions.push_back({how, 0, {}});
}

void readings::answer()
{
    answered_ = reads_.front().stamp;
    just_listed_ = true;
    reads_.pop_front();
}

void readings::fail()
{
    if (reads_.front().stamp == sent_)
        sent_ = answered_; // so that it is asked for again
    reads_.pop_front();
}

void readings::refuse()
{
    look_up_refused_ = reads_.front().looks_up || look_up_refused_;
    fail();
}

bool readings::may_look_up() const
{
    const auto looks_up = [](const sent_read& r) { return r.looks_up; };
    return !look_up_refused_ && std::none_of(reads_.begin(), reads_.end(), looks_up);
}

void readings::epoch_ended() noexcept
{
    goes_on_ = true;
    reads_.clear();
    look_up_refused_ = false;
    sent_ = answered_ = 0;
}

void readings::session_ended() noexcept
{
    doubt_ = growth_ = 0;
    goes_on_ = false;
}

} // namespace zklock::queue
