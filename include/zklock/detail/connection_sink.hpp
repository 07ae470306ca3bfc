#pragma once
#include "zklock/connection_event.hpp"

namespace zklock::detail {

/// Where the states of a client go.
class connection_sink {
public:
    virtual ~connection_sink() = default;
    /// As `event_sink::notify()`.
    virtual void notify(const connection_event&) = 0;
};

} // namespace zklock::detail
