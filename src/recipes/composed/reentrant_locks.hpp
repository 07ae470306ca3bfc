#pragma once
#include "recipes/acquisition/acquisition.hpp"
#include "recipes/composed/hold_counts.hpp"
#include "recipes/locks/locks.hpp"
#include "store/scheduler.hpp"

#include <map>
#include <memory>
#include <string>

namespace zklock::recipes {

/// The re-entrant locks of one client: which owner has which lock, and how often. Each owner has one contender per
/// path, that of a mutex, a writer or a reader; what counts is kept here. They have the strand and lifetime of the
/// locks.
///
/// An owner that writes may read, too. When it stops writing and reads on, its contender becomes a reader. An owner
/// that only reads, or waits to, cannot write: `errc::not_upgradable`.
///
/// An owner whose lock was lost gets it back only when all of the lost holds have been released: none of its acquires
/// succeeds on the strength of a hold that is no longer there.
class reentrant_locks {
public:
    reentrant_locks(locks&, store::scheduler&, std::shared_ptr<hold_counts>);
    ~reentrant_locks();
    reentrant_locks& operator=(reentrant_locks&&) = delete;

    /// An owner that holds the lock gets one hold more, without a request. One that is acquiring it gets the same
    /// grant, or the same failure, under a deadline of its own. Any other queues for it, as by locks::acquire().
    ///
    /// The options that count are those of the acquire that made the contender. It fails with `errc::invalid_option`
    /// for other names, and for a mutex where the owner has a shared mutex, or the other way round.
    std::shared_ptr<acquisition> acquire(owner_id, std::string path, shared_options, acquire_call,
                                         queue::contender_kind = queue::contender_kind::mutex);

private:
    class tenure;
    class hold;
    using key = hold_counts::key;

    locks& locks_;
    store::scheduler& scheduler_;
    std::shared_ptr<hold_counts> counts_;
    std::map<key, std::shared_ptr<tenure>> tenures_;
};

} // namespace zklock::recipes
