#pragma once
#include "recipes/acquisition/acquire_events.hpp"
#include "zklock/detail/event_sink.hpp"

#include <boost/system/error_code.hpp>

#include <cstddef>

namespace zklock::recipes {

/// What the listener of a semaphore is told of one acquire. It shares in the permits of the acquire, wherever they are
/// held: their nodes and the acquisitions that they were split into keep it. To the lock of the waiting line it is the
/// listener.
class permit_events final : public acquire_events, public detail::event_sink<lock_event> {
public:
    using acquire_events::acquire_events;

    /// So many permits were granted, by the node of the first.
    void granted(std::string_view node, std::int64_t fencing_token, std::size_t permits) noexcept
    {
        left_ = permits;
        acquired(node, fencing_token);
    }
    /// A permit was given back, and its node is gone; or can be deleted no more.
    void returned(boost::system::error_code ec) noexcept
    {
        if (--left_ == 0)
            released(ec);
    }

private:
    /// The line tells something: only the place in it matters here. Whoever is the first there may wait for a permit.
    void notify(const lock_event& of_the_line) override
    {
        if (of_the_line.what != lock_event::kind::queued)
            return;
        queued(of_the_line.node, of_the_line.sequence);
        if (of_the_line.behind)
            waits_behind(of_the_line.behind);
    }

    std::size_t left_ = 0; ///< permits that were not given back
};

} // namespace zklock::recipes
