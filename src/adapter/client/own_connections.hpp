#pragma once
#include "counters/counters.hpp"
#include "runtime/asio_scheduler.hpp"
#include "runtime/client_store.hpp"
#include "runtime/strand.hpp"
#include "runtime/turns.hpp"
#include "store/scheduler.hpp"
#include "zklock/client_options.hpp"

#include <memory>

namespace zklock::detail {

/// A client's store: a connection to the servers that its options name, or to the ensemble in memory of that name. The
/// scheduler and the counter have to live as long as the store is not stopped, which it is when the last pointer goes.
[[nodiscard]] std::shared_ptr<runtime::client_store> make_store(const runtime::strand&,
                                                                const std::shared_ptr<runtime::turns>&,
                                                                runtime::asio_scheduler&, const client_options&,
                                                                counters::counter& requests);

/// A client's peers; null if its options say that it has none, and in a library that is built without OpenSSL. They are
/// stopped when the last pointer goes. Counters and `store` have to live as long.
[[nodiscard]] std::shared_ptr<runtime::client_peers>
make_peers(const runtime::strand&, const std::shared_ptr<runtime::turns>&, store::scheduler&, const client_options&,
           counters::handoff_counters&, const runtime::client_store& store);

} // namespace zklock::detail
