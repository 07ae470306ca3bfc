#pragma once
#include "zklock/detail/event_sink.hpp"
#include "zklock/events.hpp"

#include <algorithm>

namespace zklock::unit {

/// A listener that keeps what it is told.
struct journal final : detail::event_sink<lock_event> {
    void notify(const lock_event& e) override { events.push_back(e); }

    /// What happened since the last look, as text. The acquires are numbered as they were heard of.
    std::string text()
    {
        std::string all;
        for (const lock_event& e : events)
            all += (all.empty() ? "" : ", ") + std::to_string(number_of(e.acquire)) + ' ' +
                   std::string(to_string(e.what)) + (e.error ? ": " + e.error.message() : "");
        last = events.empty() ? lock_event() : events.back();
        events.clear();
        return all;
    }
    std::size_t number_of(std::uint64_t acquire)
    {
        const auto found = std::find(acquires.begin(), acquires.end(), acquire);
        const auto place = static_cast<std::size_t>(found - acquires.begin());
        if (found == acquires.end())
            acquires.push_back(acquire);
        return place + 1;
    }

    std::vector<lock_event> events;
    std::vector<std::uint64_t> acquires; ///< that were heard of
    lock_event last;
};

} // namespace zklock::unit
