// What all members are told: the end of an epoch and of the session.
#include "recipes/session/session.hpp"

#include <utility>

namespace zklock::recipes {

void session::tell_expiry()
{
    lost_creates.session_ended();
    for (session_member* member : members())
        member->session_ended();
}

/// Then the session should be over, by a clock that runs on while the machine sleeps: the servers, which may have heard
/// of it until the connection ended, keep it no longer, if they run.
void session::watch_overdue()
{
    if (overdue_timer_.planned() || overdue_ || id_ == 0 || over)
        return;
    overdue_timer_.plan(should_be_over_, [this] { notice_overdue(); });
}

void session::notice_overdue()
{
    if (epoch_open_ || over || id_ == 0)
        return;
    overdue_ = true;
    log(log_level::warning, "session ", store::session_name{id_}, " should be over: nothing was heard of it for ",
        scheduler.now() - lease.span()->heard(), "; it goes on if the servers still know it");
    change(connection_state::connecting);
    tell_overdue();
}

/// Nothing is forgotten for it: servers that were away may have the session still, with all its nodes.
void session::tell_overdue()
{
    for (session_member* member : members())
        member->session_overdue();
}

} // namespace zklock::recipes
