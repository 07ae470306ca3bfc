// What a session has its log say of locks that are lost or left, and of turns that come late.
#include "recipes/session/session.hpp"

#include <string>
#include <utility>

namespace zklock::recipes {
namespace {

std::string_view describe(loss_reason why) noexcept
{
    switch (why) {
    case loss_reason::lease_ended: return "its lease has ended";
    case loss_reason::session_expired: return "the servers have ended the session";
    case loss_reason::node_deleted: return "somebody else has deleted its node";
    case loss_reason::client_closed: return "the client was closed before its guard was released";
    case loss_reason::authentication_failed: return "the servers have refused the credentials";
    case loss_reason::forked: break; // nobody writes to the log there
    }
    return to_string(why);
}

} // namespace

lock_loss session::loss_of(store::scheduler::time_point held_since) const noexcept
{
    const auto now = scheduler.now();
    lock_loss lost{loss_reason::node_deleted, now - held_since, now - lease.span()->heard()};
    if (over)
        lost.reason = *over == errc::closed ? loss_reason::client_closed : loss_reason::authentication_failed;
    else if (id_ == 0 || held_since < began_)
        lost.reason = loss_reason::session_expired;
    else if (!lease.fresh(now))
        lost.reason = loss_reason::lease_ended;
    return lost;
}

void session::log_loss(const lock_loss& lost, std::string_view path, std::string_view node,
                       std::int64_t fencing_token) const noexcept
{
    if (!log.on(log_level::warning))
        return;
    const std::string_view names_it = node.empty() ? "" : "node ";
    const auto say = [&](const auto&... more) {
        log(log_level::warning, "lost ", path, ", held for ", lost.held, " (", names_it, node,
            node.empty() ? "token " : ", token ", fencing_token, "): ", describe(lost.reason), more...);
    };
    if (lost.reason == loss_reason::lease_ended || lost.reason == loss_reason::session_expired)
        say("; nothing was heard from the servers for ", lost.unheard);
    else
        say();
}

errc session::note_waiters_node_gone(std::string_view path, std::string_view node) const noexcept
{
    const auto now = scheduler.now();
    const auto unheard = now - lease.span()->heard();
    const bool expired = unheard >= lease.times().timeout;
    const auto say = [&](const auto&... who) {
        log(log_level::warning, who..., " the node of a waiter for ", path, ", which has lost its place",
            node.empty() ? "" : ": ", node);
    };
    if (expired)
        say("most likely the servers have ended the session, of which nothing was heard for ", unheard,
            ", and with it");
    else if (!lease.fresh(now))
        say("nothing was heard from the servers for ", unheard, ", and now they tell of the end of");
    else
        say("somebody else has deleted");
    return expired ? errc::session_expired : errc::lost;
}

void session::made_by(std::int64_t czxid, store::scheduler::time_point sent) noexcept
{
    if (czxid <= 0 || czxid >= granted_zxid_ || sent < granted_zxid_known_)
        return;
    log(log_level::warning, "the ensemble was set back, or is another one: a lock was granted by its transaction ",
        granted_zxid_, ", and now transaction ", czxid, " has made a node; fencing tokens are smaller than earlier "
        "ones, and resources that go by them refuse everybody, until a generation beside the tokens is raised");
    granted_zxid_ = 0; // said once
}

void session::log_left_held(std::string_view path, std::string_view node, std::int64_t fencing_token) const noexcept
{
    if (context_gone_)
        log(log_level::warning, "left ", path, " held (node ", node, ", token ", fencing_token,
            "): the execution context was destroyed before the client was closed; the node goes with the session, when "
            "that expires at the latest");
}

} // namespace zklock::recipes
