#include "adapter/client/listener.hpp"
#include "zklock/detail/event_sink.hpp"
#include "zklock/events.hpp"

#include <utility>

namespace zklock {
static bool is_dropped_last(const lock_event& e) noexcept
{
    return e.what == lock_event::kind::lost;
}
static bool is_dropped_last(const connection_event&) noexcept
{
    return false;
}

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
