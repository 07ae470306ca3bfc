#pragma once
#include "zklock/mutex_options.hpp"

namespace zklock {

/// Options of an election: those of the lock whose holder leads (its `identifier` tells who a participant is), and
struct election_options : mutex_options {
    election_options() = default; // gcc 12 destroys temporaries of aggregates twice around co_await

    /// To stand again, at the end of the queue, when the body has returned or the leadership was lost, until
    /// `resign()`.
    bool requeue = false;
};

} // namespace zklock
