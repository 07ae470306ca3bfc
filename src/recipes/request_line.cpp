#include "recipes/request_line.hpp"

#include "recipes/session_core.hpp"

#include <algorithm>
#include <utility>

namespace zklock::recipes {

void request_line::enter(std::shared_ptr<user_request> request)
{
    user_request& entering = *request;
    if (entering.turn_ == 0)
        entering.turn_ = ++last_turn_;
    if (core_.over)
        return entering.fail(*core_.over);
    if (core_.connected)
        return entering.start();
    const auto called_later = std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& waiting) {
        return waiting->turn_ > entering.turn_;
    });
    entering.place_ = waiting_.insert(called_later, std::move(request));
    entering.in_line_ = true;
}

void request_line::leave(user_request& gone) noexcept
{
    if (std::exchange(gone.in_line_, false))
        waiting_.erase(gone.place_);
}

auto request_line::take() noexcept -> requests
{
    for (const auto& request : waiting_)
        request->in_line_ = false;
    return std::exchange(waiting_, {});
}

void request_line::epoch_began()
{
    if (catch_up_)
        core_.store.sync("/", [this](const store::reply& answer) {
            if (answer.result == store::outcome::ok)
                catch_up_ = false;
            core_.heard(answer);
        });
    for (const auto& request : take())
        request->start();
}

void request_line::stop(errc why)
{
    for (const auto& request : take())
        request->fail(why);
}

} // namespace zklock::recipes
