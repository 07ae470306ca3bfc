#include "recipes/session/request_line.hpp"

#include "recipes/session/session.hpp"

#include <utility>

namespace zklock::recipes {

std::shared_ptr<user_request> request_line::begin(std::shared_ptr<user_request> r, std::optional<errc> why_not)
{
    if (why_not)
        r->fail(*why_not);
    else
        enter(r);
    return r;
}

void request_line::enter(std::shared_ptr<user_request> request)
{
    user_request& entering = *request;
    if (entering.place_in_line_ == 0)
        entering.place_in_line_ = ++last_place_;
    if (session_.over())
        return entering.fail(*session_.over());
    if (waiting_.empty() && may_go(entering)) {
        send(entering);
        return proceed(); // it may have more to send
    }
    waiting_.emplace_hint(waiting_.end(), entering.place_in_line_, std::move(request)); // mostly the last
}

void request_line::go_on(user_request& more)
{
    if (more.goes_on_)
        return;
    more.going_on_at_ = going_on_.insert(going_on_.end(), more.shared_from_this());
    more.goes_on_ = true;
}

void request_line::leave(user_request& gone) noexcept
{
    waiting_.erase(gone.place_in_line_);
    if (std::exchange(gone.goes_on_, false))
        going_on_.erase(gone.going_on_at_);
}

void request_line::sends(user_request& request, std::size_t weight) noexcept
{
    under_way_ += weight;
    bytes_ += weight * request.bytes_;
}

/// What carries many bytes has weight 1.
void request_line::answered(user_request& request, std::size_t weight) noexcept
{
    under_way_ -= weight;
    bytes_ -= weight * request.bytes_;
}

bool request_line::may_go(const user_request& next) const noexcept
{
    const bool fits = next.bytes_ == 0 || bytes_ == 0 || bytes_ + next.bytes_ <= most_bytes_under_way;
    return session_.connected() && under_way_ < window && fits;
}

/// Makes one request.
void request_line::send(user_request& request)
{
    request.send_next();
    if (request.has_more())
        go_on(request);
}

/// One of those that have more to send does so.
void request_line::send_one()
{
    const std::shared_ptr<user_request> request = going_on_.front();
    if (request->has_more())
        send(*request);
    if (!request->goes_on_)
        return; // it has left
    if (request->has_more()) {
        going_on_.splice(going_on_.end(), going_on_, request->going_on_at_);
    } else {
        request->goes_on_ = false;
        going_on_.erase(request->going_on_at_);
    }
}

std::shared_ptr<user_request> request_line::next_to_come_up()
{
    if (waiting_.empty() || !may_go(*waiting_.begin()->second))
        return nullptr;
    if (!going_on_.empty() && std::exchange(one_came_up_, false))
        return nullptr;
    one_came_up_ = true;
    return waiting_.extract(waiting_.begin()).mapped();
}

/// While anybody waits, something is under way whose answer comes back here, or there is no connection.
void request_line::proceed()
{
    while (session_.connected() && under_way_ < window) {
        if (const auto next = next_to_come_up())
            send(*next);
        else if (!going_on_.empty())
            send_one();
        else
            return;
    }
}

void request_line::epoch_ended()
{
    while (!going_on_.empty()) {
        const std::shared_ptr<user_request> request = going_on_.front();
        leave(*request);
        request->begin_again();
    }
}

void request_line::stop(errc why)
{
    for (const auto& [place, request] : std::exchange(waiting_, {}))
        request->fail(why);
    while (!going_on_.empty()) {
        const std::shared_ptr<user_request> request = going_on_.front();
        leave(*request);
        request->fail(why);
    }
}

} // namespace zklock::recipes
