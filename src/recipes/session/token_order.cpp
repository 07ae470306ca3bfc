#include "recipes/session/token_order.hpp"

#include "recipes/session/session.hpp"

namespace zklock::recipes {

void token_order::granted_by(std::int64_t czxid)
{
    if (czxid <= largest_)
        return;
    largest_ = czxid;
    known_ = session_.scheduler.now();
}

void token_order::made_by(std::int64_t czxid, time_point sent) noexcept
{
    if (czxid <= 0 || czxid >= largest_ || sent < known_)
        return;
    session_.log(log_level::warning,
                 "the ensemble was set back, or is another one: a lock was granted by its transaction ", largest_,
                 ", and now transaction ", czxid,
                 " has made a node; fencing tokens are smaller than earlier ones, and resources that go by them "
                 "refuse everybody, until a generation beside the tokens is raised");
    largest_ = 0; // said once
}

} // namespace zklock::recipes
