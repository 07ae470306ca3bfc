#include "recipes/session/shown_state.hpp"

#include "recipes/session/session.hpp"
#include "store/tell_listener.hpp"

namespace zklock::recipes {

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
    tell_listener(next, next == connection_state::failed ? errc::authentication_failed : error_code());
    if (!on_change_ || std::exchange(tells_, true))
        return; // news that are on their way tell of it
    session_.news().tell([this] {
        tells_ = false;
        on_change_(now_);
    });
}

void shown_state::tell_listener(connection_state now, const boost::system::error_code& why) noexcept
{
    if (session_.options.listener)
        store::tell_listener(*session_.options.listener, connection_event{now, id_, session_.scheduler.now(), 0, why},
                             session_.log);
}

} // namespace zklock::recipes
