#include "adapter/client/own_peers.hpp"

#ifdef ZKLOCK_WITH_TLS
#include "bridge/peers/network_peers.hpp"
#include "bridge/peers/settings.hpp"
#endif

namespace zklock::detail {

#ifdef ZKLOCK_WITH_TLS

std::shared_ptr<runtime::client_peers>
make_peers(const runtime::strand& strand, const std::shared_ptr<runtime::turns>& turns, store::scheduler& scheduler,
           const client_options& options, counters::handoff_counters& counted, const runtime::client_store& store)
{
    const auto settings = bridge::peering::settings_of(options.handoff);
    if (!settings)
        return nullptr;
    // What is under way may keep them in memory for a while.
    const auto made = std::make_shared<bridge::peering::network_peers>(
        strand, turns, scheduler, *settings, options.log, counted, [&store] { return store.local_address(); });
    return {made.get(), [made](runtime::client_peers* peers) { peers->stop(); }};
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
