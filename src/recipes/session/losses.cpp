#include "recipes/session/losses.hpp"

#include "recipes/session/session.hpp"

namespace zklock::recipes {
namespace {

std::string_view describe(loss_reason why) noexcept
{
    switch (why) {
    case loss_reason::lease_ended: return "its lease was not renewed in time";
    case loss_reason::session_expired: return "the servers have ended the session";
    case loss_reason::node_deleted: return "somebody else has deleted its node";
    case loss_reason::client_closed: return "the client was closed before its guard was released";
    case loss_reason::authentication_failed: return "the servers have refused the credentials";
    case loss_reason::forked: break; // nobody writes to the log there
    }
    return to_string(why);
}

} // namespace

lock_loss losses::of(store::scheduler::time_point held_since) const noexcept
{
    const auto now = session_.scheduler.now();
    lock_loss lost{loss_reason::node_deleted, now - held_since, now - session_.lease().span()->heard()};
    if (session_.over())
        lost.reason =
            *session_.over() == errc::closed ? loss_reason::client_closed : loss_reason::authentication_failed;
    else if (session_.id() == 0 || held_since < began_)
        lost.reason = loss_reason::session_expired;
    else if (!session_.lease().fresh(now))
        lost.reason = loss_reason::lease_ended;
    return lost;
}

void losses::log(const lock_loss& lost, std::string_view path, std::string_view node,
                 std::int64_t fencing_token) const noexcept
{
    if (!session_.log.on(log_level::warning))
        return;
    const std::string_view names_it = node.empty() ? "" : "node ";
    const auto say = [&](const auto&... more) {
        session_.log(log_level::warning, "lost ", path, ", held for ", lost.held, " (", names_it, node,
                     node.empty() ? "token " : ", token ", fencing_token, "): ", describe(lost.reason), more...);
    };
    if (lost.reason == loss_reason::lease_ended || lost.reason == loss_reason::session_expired)
        say("; the servers were last heard ", lost.unheard, " before");
    else
        say();
}

errc losses::note_waiters_node_gone(std::string_view path, std::string_view node) const noexcept
{
    const auto now = session_.scheduler.now();
    const auto unheard = now - session_.lease().span()->heard();
    const bool expired = unheard >= session_.lease().times().timeout;
    const auto say = [&](const auto&... who) {
        session_.log(log_level::warning, who..., " the node of a waiter for ", path, ", which has lost its place",
                     node.empty() ? "" : ": ", node);
    };
    if (expired)
        say("most likely the servers have ended the session, of which nothing was heard for ", unheard,
            ", and with it");
    else if (!session_.lease().fresh(now))
        say("the lease was not renewed in time, and the servers, last heard ", unheard, " before, tell of the end of");
    else
        say("somebody else has deleted");
    return expired ? errc::session_expired : errc::lost;
}

void losses::log_left_held(std::string_view path, std::string_view node, std::int64_t fencing_token) const noexcept
{
    if (context_gone_)
        session_.log(
            log_level::warning, "left ", path, " held (node ", node, ", token ", fencing_token,
            "): the execution context was destroyed before the client was closed; the node goes with the session, when "
            "that expires at the latest");
}

} // namespace zklock::recipes
