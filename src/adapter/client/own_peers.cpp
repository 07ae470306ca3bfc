#include "adapter/client/own_peers.hpp"

#ifdef ZKLOCK_WITH_TLS
#include "bridge/peers/network_peers.hpp"
#include "bridge/peers/settings.hpp"
#endif

namespace zklock::detail {

#ifdef ZKLOCK_WITH_TLS

own_peers::own_peers(const runtime::strand& strand, const std::shared_ptr<runtime::turns>& turns,
                     store::scheduler& scheduler, const client_options& options, counters::handoff_counters& counted,
                     const runtime::client_store& store)
{
    if (const auto settings = bridge::peering::settings_of(options.handoff))
        peers_ = std::make_shared<bridge::peering::network_peers>(strand, turns, scheduler, *settings, options.log,
                                                                  counted, [&store] { return store.local_address(); });
}

own_peers::~own_peers()
{
    stop(false);
}

store::peers* own_peers::get() const noexcept
{
    return peers_.get();
}

void own_peers::stop(bool told_of_fork) noexcept
{
    if (peers_)
        peers_->stop(told_of_fork);
}

#else

own_peers::own_peers(const runtime::strand&, const std::shared_ptr<runtime::turns>&, store::scheduler&,
                     const client_options&, counters::handoff_counters&, const runtime::client_store&)
{
}
own_peers::~own_peers() = default;
store::peers* own_peers::get() const noexcept
{
    return nullptr;
}
void own_peers::stop(bool) noexcept {}

#endif

} // namespace zklock::detail
