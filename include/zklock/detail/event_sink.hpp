#pragma once
#include "zklock/lock_event.hpp"

namespace zklock::detail {

/// Where the events of a lock go.
class event_sink {
public:
    virtual ~event_sink() = default;
    /// On the client's strand. Runs no code of the user's. Throws what its executor throws that is to take the event:
    /// the first time, until it has taken one again.
    virtual void notify(const lock_event&) = 0;
};

} // namespace zklock::detail
