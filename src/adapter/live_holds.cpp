#include "adapter/live_holds.hpp"

#include "adapter/lock_state.hpp"

#include <utility>

namespace zklock::detail {

void live_hold::enter(std::shared_ptr<const lock_target> lock, const recipes::acquisition& what,
                      lock_share takes) noexcept
{
    leave();
    live_holds* const list = lock->live();
    if (!list)
        return;
    lock_ = std::move(lock);
    among_ = list;
    what_ = &what;
    takes_ = takes;
    const std::lock_guard locked(list->mutex_);
    list->all_.push_back(*this);
}

void live_hold::set_shared(bool shared) noexcept
{
    if (!among_)
        return;
    const std::lock_guard locked(among_->mutex_);
    takes_.shared = shared;
}

void live_hold::give_back(std::size_t permits) noexcept
{
    if (!among_)
        return;
    const std::lock_guard locked(among_->mutex_);
    takes_.permits -= permits;
}

void live_hold::split_off(live_hold& part, const recipes::acquisition& what, std::size_t permits) noexcept
{
    part.leave();
    if (!among_)
        return;
    part.lock_ = lock_;
    part.among_ = among_;
    part.what_ = &what;
    part.takes_ = takes_;
    part.takes_.permits = permits;
    const std::lock_guard locked(among_->mutex_); // whoever asks finds as many as before
    takes_.permits -= permits;
    among_->all_.push_back(part);
}

void live_hold::leave() noexcept
{
    const auto lock = std::move(lock_); // perhaps the last pointer to the list
    if (live_holds* const list = std::exchange(among_, nullptr)) {
        const std::lock_guard locked(list->mutex_);
        list->all_.erase(list->all_.iterator_to(*this));
    }
}

std::size_t live_holds::held(bool shared) const noexcept
{
    const auto now = lease_clock::now();
    const std::lock_guard locked(mutex_);
    std::size_t permits = 0;
    for (const live_hold& one : all_)
        if (one.takes_.shared == shared && one.what_->held(now))
            permits += one.takes_.permits;
    return permits;
}

std::size_t count_held(const std::shared_ptr<lock_state>& lock, bool shared) noexcept
{
    if (!lock || !lock->client()->alive())
        return 0;
    const live_holds* const all = lock->target()->live();
    return all ? all->held(shared) : 0;
}

} // namespace zklock::detail
