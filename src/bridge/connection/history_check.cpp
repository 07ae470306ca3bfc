#include "bridge/connection/history_check.hpp"

namespace zklock::bridge {
namespace {

// Between these, it has hung up on who asked for service. Elections take longer than a few questions, so a quorum does
// not come and go that often.
constexpr int enough_taken_up = 3;
// The server is asked again over another connection, and may not have got so far as to end the session.
constexpr int most_ends = 3;

} // namespace

void history_check::attempt_begins() noexcept
{
    asks_ = ends_ ? session_question::end : session_question::service;
    taken_up_ = 0;
}

auto history_check::answered(session_answer what, bool believed, bool overdue, bool decides) noexcept -> verdict
{
    if (ends_)
        return what == session_answer::unknown && !believed ? verdict::failed : told_to_end(what, overdue || decides);
    switch (what) {
    case session_answer::none: break;
    case session_answer::hung_up:
        if (asks_ != session_question::service || !overdue || !believed)
            break;
        return ask(session_question::session);
    case session_answer::unknown: return decides ? verdict::over : verdict::voted;
    case session_answer::taken_up:
        if (asks_ == session_question::end)
            return ask(session_question::session);
        if (++taken_up_ < enough_taken_up)
            return ask(session_question::service);
        if (!decides)
            return verdict::voted;
        if (taken_up_ < enough_taken_up + most_ends)
            return ask(session_question::end);
        break;
    }
    return verdict::failed;
}

/// The one that has ended it says so when it is asked once more.
auto history_check::told_to_end(session_answer what, bool decides) noexcept -> verdict
{
    if (what == session_answer::taken_up && ++taken_up_ <= most_ends)
        return ask(session_question::end);
    if (what != session_answer::unknown)
        return verdict::failed;
    ends_ = !decides;
    return decides ? verdict::over : verdict::voted;
}

auto history_check::ask(session_question what) noexcept -> verdict
{
    asks_ = what;
    return verdict::ask;
}

} // namespace zklock::bridge
