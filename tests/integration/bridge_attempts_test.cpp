// What an attempt to connect may meet, and what may be asked of a server in it.
#include "integration/bridge_client.hpp"
#include "support/proxy.hpp"
#include "support/zookeeper_server.hpp"

#include <cstdint>
#include <limits>

using namespace zklock;
using namespace zklock::test;

TEST_CASE("the longest session time-outs: what the C client can reckon with is asked for, granted, and kept")
{
    constexpr milliseconds largest{std::numeric_limits<std::int32_t>::max()};
    constexpr milliseconds longest{(1 << 30) - 1};
    server_options generous;
    generous.max_session_timeout = largest;
    zookeeper_server server(generous);
    for (const auto asked : {longest, longest + 1ms, largest}) {
        CAPTURE(asked.count());
        proxy between{server.port()};
        auto options = options_for(between.address());
        options.session_timeout = asked;
        bridge_client c{options};
        c.wait_connected();
        CHECK(c.session_timeout == longest);
        CHECK(c.sync("/") == outcome::ok);
        const auto session = c.session;
        between.cut();
        c.wait_connected(2);
        CHECK(c.session == session);
        CHECK(c.sync("/") == outcome::ok);
        c.close();
    }
}
