#pragma once
#include "counters/counters.hpp"
#include "runtime/client_store.hpp"
#include "runtime/strand.hpp"
#include "runtime/turns.hpp"
#include "store/peers.hpp"
#include "store/scheduler.hpp"
#include "zklock/client_options.hpp"

#include <memory>

namespace zklock::bridge {
namespace peering {
class network_peers;
}
} // namespace zklock::bridge

namespace zklock::detail {

/// A client's peers, if its options say that it has any. A library that is built without OpenSSL has none.
class own_peers {
public:
    /// Counters and `store` have to live as long as this.
    own_peers(const runtime::strand&, const std::shared_ptr<runtime::turns>&, store::scheduler&, const client_options&,
              counters::handoff_counters&, const runtime::client_store& store);
    ~own_peers();
    own_peers(const own_peers&) = delete;
    own_peers& operator=(const own_peers&) = delete;

    /// Null if there are none.
    [[nodiscard]] store::peers* get() const noexcept;
    /// See network_peers::stop().
    void stop(bool told_of_fork) noexcept;

private:
    std::shared_ptr<bridge::peering::network_peers> peers_;
};

} // namespace zklock::detail
