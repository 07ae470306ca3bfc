// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace zklock::detail {

/// Where a lock's events go, or those of a client's connection.
template <class Event> class event_sink {
public:
    virtual ~event_sink() = default;
    /// Is called on the client's strand. It must not call the user's function. If the executor throws that is to take
    /// the event, so does this.
    virtual void notify(const Event&) = 0;
};

} // namespace zklock::detail
