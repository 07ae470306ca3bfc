#pragma once
#include "adapter/client/client_status.hpp"
#include "adapter/client/unseen_guards.hpp"
#include "counters/counters.hpp"
#include "counters/lock_counters.hpp"
#include "zklock/metrics.hpp"

namespace zklock::detail {

/// What a client counts. It lives as long as the client's state, which may outlive the context.
struct client_counters {
    /// From any thread.
    [[nodiscard]] metrics read(const client_status&) const;

    detail::unseen_guards unseen_guards;
    counters::by_name locks;
    counters::connection_counters connection;
};

} // namespace zklock::detail
