#include "adapter/locks/live_holds.hpp"

#include "adapter/locks/lock_state.hpp"

#include <thread>
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
    list->mutex_.claim();
    const live_holds::change made(*list);
    list->all_.push_back(*this);
}

void live_hold::set_shared(bool shared) noexcept
{
    if (!among_)
        return;
    const live_holds::change made(*among_);
    takes_.shared = shared;
}

void live_hold::give_back(std::size_t permits) noexcept
{
    if (!among_)
        return;
    const live_holds::change made(*among_);
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
    const live_holds::change made(*among_); // a caller that asks finds as many as before
    takes_.permits -= permits;
    among_->all_.push_back(part);
}

void live_hold::leave_the_list() noexcept
{
    const auto lock = std::move(lock_); // perhaps the last pointer to the list
    live_holds* const list = std::exchange(among_, nullptr);
    if (!list->mutex_.is_ours())
        return;
    const live_holds::change made(*list);
    list->all_.erase(list->all_.iterator_to(*this));
}

live_holds::change::change(live_holds& in) noexcept : in_(in)
{
    if (!in_.mutex_.try_lock()) { // somebody is counting, or changes something in another thread
        in_.waiting_.fetch_add(1, std::memory_order_relaxed);
        in_.mutex_.lock();
        in_.waiting_.fetch_sub(1, std::memory_order_relaxed);
    }
    ++in_.changes_;
}

live_holds::change::~change()
{
    in_.mutex_.unlock();
}

std::size_t live_holds::held(bool shared) const noexcept
{
    constexpr int most_attempts = 4;
    counted all;
    if (!mutex_.is_ours())
        return 0;
    for (int attempts = 0; attempts < most_attempts; ++attempts)
        if (all = count(shared); all.unchanged)
            break;
    return all.permits;
}

auto live_holds::count(bool shared) const noexcept -> counted
{
    constexpr std::size_t most_at_once = 64;
    const auto now = lease_clock::now();
    counted all;
    live_hold so_far; // its place in the list, while others may change that
    std::unique_lock locked(mutex_);
    const std::size_t changes = changes_;
    auto next = all_.begin();
    for (std::size_t looked_at = 1; next != all_.end(); ++looked_at) {
        const live_hold& one = *next++;
        if (one.what_ && one.takes_.shared == shared && one.what_->held(now))
            all.permits += one.takes_.permits;
        if (looked_at % most_at_once != 0 || waiting_.load(std::memory_order_relaxed) == 0)
            continue;
        const auto place = all_.insert(next, so_far);
        locked.unlock();
        while (waiting_.load(std::memory_order_relaxed) != 0)
            std::this_thread::yield();
        locked.lock();
        next = all_.erase(place);
        all.unchanged = all.unchanged && changes_ == changes;
    }
    return all;
}

std::size_t count_held(const std::shared_ptr<lock_state>& lock) noexcept
{
    return lock && lock->client()->alive() ? lock->target()->count_held(*lock->client()) : 0;
}

} // namespace zklock::detail
