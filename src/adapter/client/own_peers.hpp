#pragma once
#include "counters/counters.hpp"
#include "runtime/client_peers.hpp"
#include "runtime/client_store.hpp"
#include "runtime/strand.hpp"
#include "runtime/turns.hpp"
#include "store/scheduler.hpp"
#include "zklock/client_options.hpp"

#include <memory>

namespace zklock::detail {

/// A client's peers; null if its options say that it has none, and in a library that is built without OpenSSL. They are
/// stopped when the last pointer goes. Counters and `store` have to live as long.
[[nodiscard]] std::shared_ptr<runtime::client_peers>
make_peers(const runtime::strand&, const std::shared_ptr<runtime::turns>&, store::scheduler&, const client_options&,
           counters::handoff_counters&, const runtime::client_store& store);

} // namespace zklock::detail
