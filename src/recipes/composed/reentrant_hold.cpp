#include "recipes/composed/reentrant_hold.hpp"

#include "recipes/composed/reentrant_tenure.hpp"

#include <utility>

namespace zklock::recipes {

reentrant_locks::hold::hold(session& s, std::weak_ptr<tenure> where, acquire_call call, queue::contender_kind kind)
    : timed_acquisition(s), where_(std::move(where)), call_(std::move(call)), kind_(kind)
{
}

bool reentrant_locks::hold::withdraw()
{
    const auto where = where_.lock();
    return where && where->withdraw(shared_from_this());
}

void reentrant_locks::hold::expect_time_out()
{
    if (const auto where = where_.lock())
        where->expect_time_out();
}

known_wait reentrant_locks::hold::waits_for()
{
    const auto where = where_.lock();
    return where && !told_ ? where->describe_wait() : known_wait();
}

void reentrant_locks::hold::give_up(error_code why)
{
    if (const auto where = where_.lock())
        where->give_up(shared_from_this(), why);
}

void reentrant_locks::hold::release(store::unique_function<void(error_code)> released)
{
    call_.lost = nullptr;
    asked_ = nullptr;
    if (const auto where = where_.lock())
        where->release(shared_from_this(), std::move(released));
}

void reentrant_locks::hold::note_unseen() noexcept
{
    if (const auto where = where_.lock())
        where->note_unseen();
}

void reentrant_locks::hold::on_revoked(std::function<void()> asked)
{
    const auto where = where_.lock();
    if (!where || !granted())
        return;
    asked_ = std::move(asked);
    where->watch_for_revocation(shared_from_this());
}

bool reentrant_locks::hold::stands_on(const grant&) const noexcept
{
    const auto where = where_.lock();
    return where && where->stands_on_its_node();
}

std::vector<std::string> reentrant_locks::hold::nodes_of(const grant& given) const
{
    const auto where = where_.lock();
    return {where ? where->node() : given.node};
}

// --- for its tenure --------------------------------------------------------------------------------------------------

void reentrant_locks::hold::begin(std::shared_ptr<acquisition> lock) noexcept
{
    lock_ = std::move(lock);
    active_ = true;
}

void reentrant_locks::hold::end_wait(error_code ec, grant given)
{
    told_ = true;
    if (ec)
        call_.lost = nullptr;
    std::exchange(call_.done, nullptr)(ec, std::move(given));
}

void reentrant_locks::hold::lose()
{
    asked_ = nullptr;
    if (call_.lost)
        std::exchange(call_.lost, nullptr)();
}

void reentrant_locks::hold::revoke()
{
    if (asked_)
        std::exchange(asked_, nullptr)();
}

void reentrant_locks::hold::forget_caller() noexcept
{
    call_.done = nullptr;
    call_.lost = nullptr;
    asked_ = nullptr;
    released_ = nullptr;
}

void reentrant_locks::hold::tell_released(error_code ec)
{
    if (released_)
        session_.news().tell(shared_from_this(), [ec](hold& h) { h.finish_release(ec); });
}

void reentrant_locks::hold::finish_release(error_code ec)
{
    if (released_)
        std::exchange(released_, nullptr)(ec);
}

} // namespace zklock::recipes
