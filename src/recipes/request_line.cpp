#include "recipes/request_line.hpp"

#include "recipes/session_core.hpp"

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
    waiting_.emplace_hint(waiting_.end(), entering.turn_, std::move(request)); // mostly the last
}

void request_line::leave(user_request& gone) noexcept
{
    waiting_.erase(gone.turn_);
}

void request_line::epoch_began()
{
    for (const auto& [turn, request] : std::exchange(waiting_, {}))
        request->start();
}

void request_line::stop(errc why)
{
    for (const auto& [turn, request] : std::exchange(waiting_, {}))
        request->fail(why);
}

} // namespace zklock::recipes
