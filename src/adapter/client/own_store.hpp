#pragma once
#include "counters/counters.hpp"
#include "runtime/asio_scheduler.hpp"
#include "runtime/client_store.hpp"
#include "runtime/strand.hpp"
#include "runtime/turns.hpp"
#include "zklock/client_options.hpp"

#include <memory>

namespace zklock::detail {

/// A client's store: a connection to the servers that its options name, or to the ensemble in memory of that name. The
/// scheduler and the counter have to live as long as the store is not stopped.
[[nodiscard]] runtime::owned_store make_store(const runtime::strand&, const std::shared_ptr<runtime::turns>&,
                                              runtime::asio_scheduler&, const client_options&,
                                              counters::counter& requests);

} // namespace zklock::detail
