#pragma once
// A connector whose clock the test moves.
#include "address_scene.hpp"
#include "bridge/connection/connector.hpp"

#include <doctest/doctest.h>

#include <set>

/// A namespace of its own, since some of the names are short.
namespace zklock::unit::connecting {

using namespace std::chrono_literals;
using bridge::connector;
using clock_type = connector::clock;
using phase = connector::phase;
using step = connector::step;
using loss = connector::loss;
using test::addresses;

inline constexpr connector::settings usual{12s, 100ms, 5s};

/// A connector on a machine that has slept for so long: its two clocks differ by that.
class sleeper : public connector {
public:
    using connector::connector;

    clock::duration slept{};

    [[nodiscard]] moment at(clock::time_point now) const
    {
        return {now, lease_clock::time_point(now.time_since_epoch() + slept)};
    }
    [[nodiscard]] bool believes_expiry(clock::time_point now) { return connector::believes_expiry(at(now)); }
    [[nodiscard]] bool session_is_overdue(clock::time_point now) const
    {
        return connector::session_is_overdue(at(now).lease);
    }
    [[nodiscard]] step begin(clock::time_point now) { return connector::begin(at(now)); }
    [[nodiscard]] step names_known(names known, clock::time_point now)
    {
        return connector::names_known(std::move(known), at(now));
    }
    [[nodiscard]] step lost(bridge::loss what, clock::time_point now) { return connector::lost(what, at(now)); }
    [[nodiscard]] step time_passed(clock::time_point now) { return connector::time_passed(at(now)); }
};

/// A connector and a clock that the test moves.
struct connector_scene {
    explicit connector_scene(connector::settings s = usual, unsigned seed = 1) : c(s, seed, now) {}

    /// Lets time pass until the connector has something to do.
    step next()
    {
        for (;;) {
            REQUIRE(c.due());
            now = std::max(now, *c.due());
            if (const step s = c.time_passed(now); s != step::wait)
                return s;
        }
    }

    /// How long it takes until the next step, which is that one.
    clock_type::duration time_to(step expected)
    {
        const auto before = now;
        CHECK(next() == expected);
        return now - before;
    }

    /// What was tried or had is over for that reason; the next step is to wait for another attempt, and then to make
    /// it.
    void attempt_after(loss what)
    {
        CHECK(c.lost(what, now) == step::wait);
        REQUIRE(next() == step::attempt);
    }

    /// Likewise, to ask for the names first.
    void resolve_after(loss what)
    {
        CHECK(c.lost(what, now) == step::wait);
        REQUIRE(next() == step::resolve);
    }

    /// All names are answered, and an attempt follows.
    void resolve(const std::vector<std::string>& names)
    {
        REQUIRE(c.names_known({addresses(names), false, true}, now) == step::attempt);
    }

    /// Begins with all addresses known.
    void begin(const std::vector<std::string>& names)
    {
        REQUIRE(c.begin(now) == step::resolve);
        resolve(names);
    }

    /// Lets time pass until the next attempt. If it asks for the names first, they are answered.
    void next_attempt(const std::vector<std::string>& names)
    {
        if (next() == step::resolve)
            resolve(names);
        CHECK(c.now_in() == phase::connecting);
    }

    /// The present attempt succeeds, and the connection lasts for a minute.
    void stay_connected(clock_type::duration granted = 12s)
    {
        c.opened(granted);
        now += 1min;
    }

    /// The present attempt is refused at once, and so are the rest of the cycle. What was tried.
    std::multiset<std::string> refuse_cycle()
    {
        std::multiset<std::string> tried;
        for (;;) {
            tried.insert(c.address().text);
            CHECK(c.lost(loss::connection, now) == step::wait);
            const auto s = next();
            if (s == step::resolve)
                return tried;
            CHECK(s == step::attempt);
        }
    }

    clock_type::time_point now{1h};
    sleeper c;
};

} // namespace zklock::unit::connecting
