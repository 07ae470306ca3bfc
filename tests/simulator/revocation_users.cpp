// The users of revocation: mutexes, or readers and writers, whose holders are asked to let go.
#include "asking_users.hpp"
#include "mutex_users.hpp"

namespace zklock::simulator {

std::unique_ptr<scenario> make_revocation_users(stage& s)
{
    if (s.the_plan.seed % 3 == 0)
        return make_shared_users_who_ask(s);
    return std::make_unique<users_who_ask<mutex_users>>(s);
}

} // namespace zklock::simulator
