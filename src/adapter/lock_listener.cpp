#include "zklock/lock_listener.hpp"

#include <boost/asio/post.hpp>

#include <deque>
#include <mutex>
#include <utility>

namespace zklock {
namespace {

/// Calls a function with one event after the other. A strand would do the same, but must not outlive its context, as
/// the options of a lock may.
class listener final : public detail::event_sink, public std::enable_shared_from_this<listener> {
public:
    listener(asio::any_io_executor executor, std::function<void(const lock_event&)> told)
        : executor_(std::move(executor)), told_(std::move(told))
    {
    }

    void notify(const lock_event& event) override
    {
        const std::lock_guard lock(mutex_);
        events_.push_back(event);
        if (!std::exchange(calling_, true))
            post();
    }

private:
    void post()
    {
        asio::post(executor_, [self = shared_from_this()] { self->call(); });
    }

    void call()
    {
        struct go_on { // also when the function throws
            listener& all;
            ~go_on()
            {
                const std::lock_guard lock(all.mutex_);
                all.calling_ = !all.events_.empty();
                if (all.calling_)
                    all.post();
            }
        };
        std::unique_lock lock(mutex_);
        const lock_event event = std::move(events_.front());
        events_.pop_front();
        lock.unlock();
        const go_on then{*this};
        told_(event);
    }

    const asio::any_io_executor executor_;
    const std::function<void(const lock_event&)> told_;
    std::mutex mutex_; // guards these two
    std::deque<lock_event> events_;
    bool calling_ = false; ///< a call is under way or posted
};

} // namespace

lock_listener listen(asio::any_io_executor executor, std::function<void(const lock_event&)> told)
{
    return std::make_shared<listener>(std::move(executor), std::move(told));
}

} // namespace zklock
