#pragma once
#include "zklock/lock_event.hpp"

namespace zklock::detail {

/// Where the events of a lock go.
class event_sink {
public:
    virtual ~event_sink() = default;
    /// Is called on the client's strand. It must not call the user's function. If the executor throws that is to take
    /// the event, so does this; but not a second time before that executor has taken an event.
    virtual void notify(const lock_event&) = 0;
};

} // namespace zklock::detail
