#include "adapter/client/own_store.hpp"
#include "bridge/connection/connection.hpp"
#include "runtime/stores_in_memory.hpp"

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <utility>

namespace zklock::detail {

namespace {

namespace asio = boost::asio;

using lease_timer = asio::basic_waitable_timer<lease_clock, asio::wait_traits<lease_clock>, runtime::strand>;

/// A timer that is due makes its execution context look at all timers of that clock.
void look_at_timers(const runtime::strand& strand)
{
    const auto due = std::make_shared<lease_timer>(strand, lease_clock::now());
    due->async_wait([due](const error_code&) {});
}

/// Keeps the execution context in work, as a socket does that is waited for. Made and destroyed on the strand.
class work {
public:
    explicit work(const runtime::strand& strand)
        : until_destroyed_(strand, std::chrono::steady_clock::time_point::max())
    {
        until_destroyed_.async_wait([](const error_code&) {});
    }

private:
    asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, runtime::strand>
        until_destroyed_;
};

std::shared_ptr<runtime::client_store> store_in_memory(const runtime::strand& strand,
                                                       const std::shared_ptr<runtime::turns>& turns,
                                                       runtime::asio_scheduler& scheduler,
                                                       const client_options& options, counters::counter& requests)
{
    const auto make = runtime::maker_of_stores();
    if (!make)
        return nullptr;
    const auto in_work = std::make_shared<const work>(strand);
    return make({options, scheduler,
                 [strand, turns, in_work](store::unique_function<void()> f) {
                     asio::post(strand, [turns, f = std::move(f)] { turns->run([&] { f(); }); });
                 },
                 [&requests] { requests.add(); },
                 [strand, &scheduler] {
                     scheduler.look_again();
                     look_at_timers(strand);
                 },
                 [&scheduler] { return scheduler.next(); }});
}

} // namespace

runtime::owned_store make_store(const runtime::strand& strand, const std::shared_ptr<runtime::turns>& turns,
                                runtime::asio_scheduler& scheduler, const client_options& options,
                                counters::counter& requests)
{
    if (auto made = store_in_memory(strand, turns, scheduler, options, requests)) {
        auto* const store = made.get();
        return {store, runtime::stops_store{std::move(made)}};
    }
    return bridge::make_connection(strand, options, requests, turns);
}

} // namespace zklock::detail
