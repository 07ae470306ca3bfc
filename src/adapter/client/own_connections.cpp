#include "adapter/client/own_connections.hpp"
#include "bridge/connection/connection.hpp"
#ifdef ZKLOCK_WITH_TLS
#include "bridge/peers/network_peers.hpp"
#include "bridge/peers/settings.hpp"
#endif
#include "runtime/stopped_with_owner.hpp"
#include "runtime/stores_in_memory.hpp"

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace zklock::detail {

namespace {

namespace asio = boost::asio;

template <class Clock> using timer_of = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, runtime::strand>;

/// A timer that is due makes its execution context look at all timers of that clock.
void look_at_timers(const runtime::strand& strand)
{
    const auto due = std::make_shared<timer_of<lease_clock>>(strand, lease_clock::now());
    due->async_wait([due](const error_code&) {});
}

std::shared_ptr<runtime::client_store> store_in_memory(const runtime::strand& strand,
                                                       const std::shared_ptr<runtime::turns>& turns,
                                                       runtime::asio_scheduler& scheduler,
                                                       const client_options& options, counters::counter& requests)
{
    const auto make = runtime::maker_of_stores();
    if (!make)
        return nullptr;
    // Keeps the execution context in work, as a socket does that is waited for. Made and destroyed on the strand.
    using clock = std::chrono::steady_clock;
    const auto in_work = std::make_shared<timer_of<clock>>(strand, clock::time_point::max());
    in_work->async_wait([](const error_code&) {});
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

std::shared_ptr<runtime::client_store> make_store(const runtime::strand& strand,
                                                  const std::shared_ptr<runtime::turns>& turns,
                                                  runtime::asio_scheduler& scheduler, const client_options& options,
                                                  counters::counter& requests)
{
    if (auto made = store_in_memory(strand, turns, scheduler, options, requests))
        return runtime::stopped_with_owner(std::move(made));
    return bridge::make_connection(strand, options, requests, turns);
}

#ifdef ZKLOCK_WITH_TLS

std::shared_ptr<runtime::client_peers>
make_peers(const runtime::strand& strand, const std::shared_ptr<runtime::turns>& turns, store::scheduler& scheduler,
           const client_options& options, counters::handoff_counters& counted, const runtime::client_store& store)
{
    const auto settings = bridge::peering::settings_of(options.handoff);
    if (!settings)
        return nullptr;
    return runtime::stopped_with_owner(std::make_shared<bridge::peering::network_peers>(
        strand, turns, scheduler, *settings, options.log, counted, [&store] { return store.local_address(); }));
}

#else

std::shared_ptr<runtime::client_peers> make_peers(const runtime::strand&, const std::shared_ptr<runtime::turns>&,
                                                  store::scheduler&, const client_options&, counters::handoff_counters&,
                                                  const runtime::client_store&)
{
    return nullptr;
}

#endif

} // namespace zklock::detail
