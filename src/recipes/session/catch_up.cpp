#include "recipes/session/catch_up.hpp"

#include "recipes/session/error_mapping.hpp"
#include "recipes/session/session.hpp"

#include <algorithm>
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
    const std::uint64_t grants = to_catch_up();
    if (grants == 0 || !session_.connected() || asked_ == grants)
        return grants;
    send([this, grants](bool is_done) {
        if (is_done)
            synced_ = std::max(synced_, grants);
        else
            asked_ = synced_;
    });
    asked_ = grants;
    return grants;
}

void catch_up::unseen(std::size_t before, std::size_t now) noexcept
{
    if (before == now)
        return;
    unseen_ += now;
    unseen_ -= before;
    if (unseen_ == 0 && synced_ >= only_by_sync_)
        synced_ = certified_grants_;
}

void catch_up::unseen_for_ever(std::size_t count) noexcept
{
    if (count == 0)
        return;
    only_by_sync_ = certified_grants_;
    unseen_ -= count;
}

bool catch_up::behind_users(std::uint64_t grants) const noexcept
{
    const bool behind_epoch = reconnected_ && !done();
    return behind_epoch || behind_handoffs(grants);
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
    asked_ = synced_;
}

} // namespace zklock::recipes
