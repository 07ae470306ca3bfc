#include "recipes/session/news.hpp"

#include "recipes/session/session.hpp"

#include <cstddef>

namespace zklock::recipes {

void news::deliver_soon()
{
    if (delivering_ || waiting_.empty())
        return;
    session_.scheduler.post([alive = std::weak_ptr(alive_)] {
        if (const auto self = alive.lock())
            (*self)->deliver();
    });
    delivering_ = true;
}

void news::deliver()
{
    // A grant still holds when it is told: an end of the lease since it was decided is noticed here, before.
    session_.lease().notice_lapse(session_.scheduler.now());
    // What comes up meanwhile is told next time.
    for (std::size_t n = waiting_.size(); n != 0; --n) {
        const auto say = std::move(waiting_.front());
        waiting_.pop_front();
        say();
    }
    delivering_ = false;
    deliver_soon();
}

void news::later(lease_clock::duration delay, std::function<void()> f)
{
    // The timer stays with the scheduler: it may run after this object is gone.
    const auto when = session_.scheduler.now() + delay;
    static_cast<void>(session_.scheduler.call_at(when, [alive = std::weak_ptr(alive_), f = std::move(f)] {
        if (const auto self = alive.lock())
            f();
    }));
}

} // namespace zklock::recipes
