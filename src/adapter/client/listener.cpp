#include "adapter/client/context_service.hpp"
#include "zklock/detail/event_sink.hpp"
#include "zklock/events.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace zklock {
namespace detail {
namespace {

namespace asio = boost::asio;

bool is_dropped_last(const lock_event& e) noexcept
{
    return e.what == lock_event::kind::lost;
}
bool is_dropped_last(const connection_event&) noexcept
{
    return false;
}

/// Calls a function with one event after the other. It may outlive the context of its executor, as the options of a
/// lock may: what must not is the executor, which goes in context_gone().
template <class Event>
class listener final : public event_sink<Event>, public std::enable_shared_from_this<listener<Event>> {
public:
    using service = context_service<listener>;

    listener(asio::any_io_executor executor, std::function<void(const Event&)> told, std::size_t most)
        : told_(std::move(told)), most_(std::max<std::size_t>(most, 1)), registry_(service::of(executor)),
          executor_(std::move(executor))
    {
        registry_->add(*this);
    }
    ~listener() override { registry_->remove(*this); }

    void notify(const Event& event) override
    {
        const std::lock_guard lock(mutex_);
        if (!executor_)
            return;
        ++dropped_; // and told with the next, unless it is kept
        if (has_room(event)) {
            events_.push_back(event);
            --dropped_;
        }
        if (!calling_)
            post();
    }

    /// Is called by the service, while nothing runs on the executor.
    void context_gone()
    {
        asio::any_io_executor executor;
        const std::lock_guard lock(mutex_);
        executor_.swap(executor);
        events_.clear();
    }

private:
    /// Those that are to be dropped last have as much room again as all others.
    [[nodiscard]] bool has_room(const Event& event) const
    {
        const std::size_t waiting = events_.size();
        return waiting < most_ || (is_dropped_last(event) && waiting - most_ < most_);
    }

    void post()
    {
        asio::post(executor_, [self = this->shared_from_this()] { self->call(); });
        calling_ = true; // what could not be posted goes with the next event
    }

    void call()
    {
        std::unique_lock lock(mutex_);
        Event event = std::move(events_.front());
        events_.pop_front();
        event.dropped = std::exchange(dropped_, 0);
        lock.unlock();
        try {
            told_(event);
        } catch (...) {
            try {
                go_on();
            } catch (...) { // NOLINT: the listener's own is told; what waits goes with the next event
            }
            throw;
        }
        go_on();
    }

    void go_on()
    {
        const std::lock_guard lock(mutex_);
        calling_ = false;
        if (!events_.empty() && executor_)
            post();
    }

    const std::function<void(const Event&)> told_;
    const std::size_t most_;
    const std::shared_ptr<typename service::registry> registry_;
    std::mutex mutex_;               // guards these
    asio::any_io_executor executor_; ///< none once its context is gone
    std::deque<Event> events_;
    std::uint64_t dropped_ = 0; ///< since the last call
    bool calling_ = false;      ///< a call is under way or posted
};

} // namespace
} // namespace detail

lock_listener listen(boost::asio::any_io_executor executor, std::function<void(const lock_event&)> told,
                     std::size_t most)
{
    return std::make_shared<detail::listener<lock_event>>(std::move(executor), std::move(told), most);
}

connection_listener listen_to_connection(boost::asio::any_io_executor executor,
                                         std::function<void(const connection_event&)> told, std::size_t most)
{
    return std::make_shared<detail::listener<connection_event>>(std::move(executor), std::move(told), most);
}

} // namespace zklock
