#include "recipes/session/catch_up.hpp"

#include "recipes/session/error_mapping.hpp"
#include "recipes/session/session.hpp"

#include <utility>

namespace zklock::recipes {

template <class F> void catch_up::send(F answered)
{
    session_.store.sync("/", [this, answered](const store::reply& answer) {
        const bool is_done = answer.result == store::outcome::ok;
        answered(is_done);
        if (!is_done && answer.result != store::outcome::unknown)
            refused(answer.result);
        session_.lease().heard(answer);
    });
}

void catch_up::begin()
{
    if (!session_.connected() || now_ != state::not_asked)
        return;
    send([this](bool is_done) {
        now_ = is_done ? state::done : state::not_asked; // who needs it asks again
    });
    now_ = state::under_way;
}

void catch_up::refused(store::outcome why)
{
    refusal_ = error_of(why);
    if (!std::exchange(refusal_logged_, true))
        session_.log(log_level::error,
                     "the servers refuse a sync, so what they answer may be older than what former holders of a lock "
                     "have written: reads of users fail until one is granted");
}

std::uint64_t catch_up::for_users()
{
    if (reconnected_)
        begin();
    return with_handoffs();
}

std::uint64_t catch_up::with_handoffs()
{
    handoffs* const past_servers = session_.handoffs().get();
    const std::uint64_t grants = past_servers ? past_servers->to_catch_up() : 0;
    if (grants == 0 || !session_.connected() || past_servers->catching_up())
        return grants;
    send([past_servers, grants](bool is_done) {
        if (is_done)
            past_servers->caught_up(grants);
        else
            past_servers->did_not_catch_up();
    });
    past_servers->catches_up();
    return grants;
}

bool catch_up::behind_users(std::uint64_t grants) const noexcept
{
    const bool behind_epoch = reconnected_ && !done();
    return behind_epoch || behind_handoffs(grants);
}

bool catch_up::behind_handoffs(std::uint64_t grants) const noexcept
{
    return session_.handoffs() && session_.handoffs()->behind(grants);
}

bool catch_up::connected() noexcept
{
    refusal_logged_ = false;
    reconnected_ = std::exchange(connected_before_, true);
    return reconnected_;
}

void catch_up::contact_lost() noexcept
{
    now_ = state::not_asked;
    if (session_.handoffs())
        session_.handoffs()->did_not_catch_up();
}

} // namespace zklock::recipes
