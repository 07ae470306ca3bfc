#pragma once
#include "adapter/client/agreed_options.hpp"
#include "adapter/client/connection_waits.hpp"
#include "adapter/client/own_connections.hpp"
#include "adapter/client/uuid_source.hpp"
#include "recipes/composed/reentrant_locks.hpp"
#include "recipes/locks/locks.hpp"
#include "recipes/requests/node_watches.hpp"
#include "recipes/semaphore/semaphores.hpp"
#include "recipes/session/session.hpp"
#include "runtime/asio_scheduler.hpp"
#include "store/repeats.hpp"
#include "zklock/client_options.hpp"

#include <memory>
#include <utility>

namespace zklock::detail {

/// The parts that work for one client. They are made, used and destroyed on its strand.
struct client_core {
    client_core(const runtime::strand& strand, const std::shared_ptr<runtime::turns>& turns,
                const client_options& options, std::shared_ptr<recipes::hold_counts> holds,
                counters::connection_counters& counters)
        : scheduler(runtime::asio_scheduler::make(strand, turns)),
          store(make_store(strand, turns, *scheduler, options, counters.requests)),
          peers(make_peers(strand, turns, *scheduler, options, counters.handoff, *store)),
          session(*store, *scheduler, counters, options, make_uuid_source(), peers.get()), locks(session),
          watches(session), reentrant(locks, *scheduler, std::move(holds)), semaphores(locks),
          waits(*store, *scheduler, session, !options.chroot.empty() || !options.auth.empty())
    {
    }

    const std::shared_ptr<runtime::asio_scheduler> scheduler;
    const std::shared_ptr<runtime::client_store> store;
    const std::shared_ptr<runtime::client_peers> peers; ///< null if there are none
    recipes::session session;
    recipes::locks locks;
    recipes::node_watches watches;
    recipes::reentrant_locks reentrant;
    recipes::semaphores semaphores;
    connection_waits waits;
    agreed_options<recipes::path_options> agreed; ///< by all locks but semaphores
    agreed_options<recipes::semaphore_path_options> agreed_of_semaphores;
    store::repeats_by_key timeouts_told; ///< by path
};

} // namespace zklock::detail
