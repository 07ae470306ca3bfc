#include "tool/run/wanted_lock.hpp"

#include <zklock/mutex.hpp>
#include <zklock/shared_mutex.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>

#include <utility>

namespace zklock::tool {
wanted_lock::any wanted_lock::make(const client& zk, const lock_choice& choice)
{
    if (choice.limit != 0)
        return semaphore(zk, choice.path, choice.limit);
    if (choice.shared)
        return shared_mutex(zk, choice.path).shared();
    return mutex(zk, choice.path);
}

wanted_lock::wanted_lock(const client& zk, const lock_choice& choice) : lock_(make(zk, choice)) {}

void wanted_lock::acquire(std::optional<std::chrono::milliseconds> limit, boost::asio::cancellation_slot slot,
                          answer told)
{
    const bool now = limit && limit->count() <= 0;
    auto take = [told = std::move(told)](error_code error, auto held) {
        if (error)
            told(error, std::nullopt);
        else
            told(error, hold(std::move(held)));
    };
    auto token = boost::asio::bind_cancellation_slot(slot, std::move(take)); // moved by the one call that is made
    const auto begin = [&](const auto& lock) {
        if (now)
            lock.try_acquire(std::move(token));
        else if (limit)
            lock.acquire(*limit, std::move(token));
        else
            lock.acquire(std::move(token));
    };
    std::visit(begin, lock_);
}

void wanted_lock::list(std::function<void(error_code, std::vector<contender>)> told)
{
    std::visit([&](auto& lock) { lock.contenders(std::move(told)); }, lock_);
}

void wanted_lock::list_holders(std::function<void(error_code, std::vector<contender>)> told)
{
    if (auto* const gate = std::get_if<semaphore>(&lock_))
        gate->holders(std::move(told));
    else
        list(std::move(told));
}

std::optional<wait_report> wanted_lock::last_timeout() const
{
    return std::visit([](const auto& lock) { return lock.last_timeout(); }, lock_);
}

} // namespace zklock::tool
