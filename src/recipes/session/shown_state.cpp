#include "recipes/session/shown_state.hpp"

#include "recipes/session/session.hpp"

#include <utility>

namespace zklock::recipes {

void shown_state::on_change(std::function<void(connection_state)> f)
{
    on_change_ = std::move(f);
}

lease_clock::duration shown_state::lasts() const noexcept
{
    return session_.scheduler.now() - since_;
}

void shown_state::change(connection_state next)
{
    const bool same_state = now_.exchange(next) == next;
    if (!same_state)
        since_ = session_.scheduler.now();
    const std::int64_t id = id_;
    const bool same_session = std::exchange(told_id_, id) == id;
    if (same_state && same_session)
        return;
    if (next == connection_state::failed)
        tell_listener(next, errc::authentication_failed);
    else
        tell_listener(next);
    if (!on_change_ || std::exchange(tells_, true))
        return; // news that are on their way tell of it
    session_.news().tell([this] {
        tells_ = false;
        on_change_(now_);
    });
}

void shown_state::fail(const boost::system::error_code& why) noexcept
{
    tell_listener(connection_state::failed, why);
}

void shown_state::tell_listener(connection_state now, const boost::system::error_code& why) noexcept
{
    if (!session_.options.listener)
        return;
    connection_event event;
    event.state = now;
    event.session_id = id_;
    event.at = session_.scheduler.now();
    event.why = why;
    session_.notify(session_.options.listener, event);
}

} // namespace zklock::recipes
