// The users of revocation: mutexes, or readers and writers, whose holders are asked to let go.
#include "asking_users.hpp"

namespace zklock::simulator {

namespace {

/// A mutex's.
class mutex_users : public acquisition_users {
protected:
    using acquisition_users::acquisition_users;

    static constexpr bool one_holds = true;

    std::shared_ptr<recipes::acquisition> start(client& c, use& u, recipes::acquire_call call) override
    {
        return c.locks->acquire({std::move(call), {path_of(u.paths.front()), options_of(u)}});
    }
};

} // namespace

std::unique_ptr<scenario> make_revocation_users(stage& s)
{
    if (s.the_plan.seed % 3 == 0)
        return make_shared_users_who_ask(s);
    return std::make_unique<users_who_ask<mutex_users>>(s);
}

} // namespace zklock::simulator
