// How a session catches up with the leader.
#include "recipes/session/session.hpp"

#include "recipes/session/error_mapping.hpp"

#include <cstdint>
#include <utility>

namespace zklock::recipes {

void session::wrote(const store::reply& answer)
{
    lease.heard(answer);
    if (answer.result == store::outcome::ok && connected && !std::exchange(server_proved_, true))
        server_is_proved();
}

void session::server_is_proved()
{
    lost_creates.server_proved();
    if (handoffs)
        handoffs->writes->server_proved();
}

void session::granted_by(std::int64_t czxid)
{
    if (czxid <= granted_zxid_)
        return;
    granted_zxid_ = czxid;
    granted_zxid_known_ = scheduler.now();
}

void session::catch_up()
{
    if (!connected || catching_up_ != catch_up_state::not_asked)
        return;
    store.sync("/", [this](const store::reply& answer) {
        const bool done = answer.result == store::outcome::ok;
        catching_up_ = done ? catch_up_state::done : catch_up_state::not_asked; // who needs it asks again
        if (!done && answer.result != store::outcome::unknown)
            catching_up_refused(answer.result);
        lease.heard(answer);
    });
    catching_up_ = catch_up_state::under_way;
}

void session::catching_up_refused(store::outcome why)
{
    refusal_to_catch_up_ = error_of(why);
    if (!std::exchange(refusal_logged_, true))
        log(log_level::error, "the servers refuse a sync, so what they answer may be older than what former holders of "
                              "a lock have written: reads of users fail until one is granted");
}

std::uint64_t session::catch_up_for_users()
{
    if (reconnected_)
        catch_up();
    return catch_up_with_handoffs();
}

std::uint64_t session::catch_up_with_handoffs()
{
    const std::uint64_t grants = handoffs ? handoffs->to_catch_up() : 0;
    if (grants == 0 || !connected || handoffs->catching_up())
        return grants;
    store.sync("/", [this, grants](const store::reply& answer) {
        const bool done = answer.result == store::outcome::ok;
        if (done)
            handoffs->caught_up(grants);
        else
            handoffs->did_not_catch_up();
        if (!done && answer.result != store::outcome::unknown)
            catching_up_refused(answer.result);
        lease.heard(answer);
    });
    handoffs->catches_up();
    return grants;
}

bool session::behind_users(std::uint64_t grants) const noexcept
{
    const bool behind_epoch = reconnected_ && !caught_up();
    return behind_epoch || behind_handoffs(grants);
}

} // namespace zklock::recipes
