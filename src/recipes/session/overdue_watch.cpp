#include "recipes/session/overdue_watch.hpp"

#include "recipes/session/session.hpp"

namespace zklock::recipes {

void overdue_watch::begin()
{
    if (timer_.planned() || overdue_ || session_.id() == 0 || session_.over())
        return;
    timer_.plan(over_at_, [this] { notice(); });
}

void overdue_watch::connected()
{
    overdue_ = false;
    timer_.call_off();
}

void overdue_watch::notice()
{
    if (session_.id() == 0)
        return; // the client has failed
    overdue_ = true;
    session_.log(log_level::warning, "session ", store::session_name{session_.id()},
                 " should be over: nothing was heard of it for ",
                 session_.scheduler.now() - session_.lease().span()->heard(),
                 "; it goes on if the servers still know it");
    session_.tell_overdue();
}

} // namespace zklock::recipes
