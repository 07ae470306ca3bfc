#pragma once
#include "choices.hpp"
#include "settings.hpp"
#include "trace.hpp"

namespace zklock::simulator {

/// The fate of one request, placed by chance or by a plan that is being shrunk.
enum class fate : std::uint8_t {
    none,
    cut_before,  ///< the connection ends before the server has acted
    cut_after,   ///< the server has acted, the reply is lost with the connection
    cut_between, ///< the client loses the connection at once, the request goes on travelling
    stall        ///< nothing travels for a while, either way
};

struct placed_fault {
    unsigned client = 0;
    std::uint64_t request = 0; ///< counted over the client's life
    fate what = fate::none;
};

/// What a client asked for, and when.
struct noted_request {
    instant at{0};
    std::string what;
    bool operator==(const noted_request&) const = default;
};

/// What the parts of one simulated world share.
struct world {
    world(std::uint64_t seed, settings s, bool traced) : choose(seed), log(traced), set(std::move(s)) {}

    event_queue time;
    choices choose;
    trace log;
    settings set;
    bool quiet = false;                  ///< the final phase: no more faults
    bool writes_undone = false;          ///< by operators: nodes of clients were deleted, or the servers were set back
    std::string violation;               ///< the first one found, empty if none
    std::vector<placed_fault> fired;     ///< those placed by chance
    std::vector<noted_request> requests; ///< all of them, if the settings want that
    std::uint64_t overtaking_grants = 0; ///< of those that were told of a release before the servers had done it

    void violate(std::string what)
    {
        if (!violation.empty())
            return;
        log.line(time.now(), "VIOLATION", what);
        violation = std::move(what);
    }

    [[nodiscard]] instant travel_time(choices::stream purpose, std::uint32_t owner)
    {
        instant t = set.delay;
        const auto spread = static_cast<std::uint64_t>(instant(set.delay_spread).count());
        t += instant(choose.below(spread, purpose, owner));
        if (spread != 0 && choose.one_in(16, purpose, owner))
            t += 9 * instant(choose.below(spread, purpose, owner));
        return t;
    }
};

} // namespace zklock::simulator
