// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/mutex_options.hpp"

namespace zklock {

/// Options of an election: those of the lock whose holder leads, and one more. The `identifier` tells who a participant
/// is.
struct election_options : mutex_options {
    election_options() = default; // no aggregate: see client_options

    /// Whether the participant stands again, at the end of the queue, when the body has returned a value or the
    /// leadership was lost. It does so until `resign()`.
    bool requeue = false;
};

} // namespace zklock
