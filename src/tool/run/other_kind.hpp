#pragma once
#include "tool/program/voice.hpp"
#include "tool/run/wanted_lock.hpp"

#include <zklock/client.hpp>

#include <boost/asio/awaitable.hpp>

namespace zklock::tool {

/// Looks whether a lock that was granted is in use as one of the other kind, too, and warns of that: a mutex and a
/// semaphore have different nodes, and do not exclude each other. `out` has to outlive the client's session.
[[nodiscard]] boost::asio::awaitable<void> warn_of_other_kind(client zk, lock_choice granted, voice& out);

} // namespace zklock::tool
