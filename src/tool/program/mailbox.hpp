#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <deque>
#include <utility>

namespace zklock::tool {

/// What happens, in its order, for one coroutine that decides what to do about it. Belongs to one thread.
template <class Event> class mailbox {
public:
    explicit mailbox(boost::asio::any_io_executor executor)
        : bell_(executor, boost::asio::steady_timer::time_point::max())
    {
    }

    void put(Event event)
    {
        waiting_.push_back(std::move(event));
        bell_.cancel();
    }

    /// The next one, as soon as there is one.
    boost::asio::awaitable<Event> take()
    {
        while (waiting_.empty())
            co_await bell_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
        Event next = std::move(waiting_.front());
        waiting_.pop_front();
        co_return next;
    }

private:
    std::deque<Event> waiting_;
    boost::asio::steady_timer bell_;
};

} // namespace zklock::tool
