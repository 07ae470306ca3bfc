// sanitizers: none
// program: memory
// No memory for a connection over TLS, at whichever step: that was an attempt that has failed, and another one comes.
#include "integration/bridge_client.hpp"
#include "integration/scarce_turns.hpp"
#include "support/certificate_authority.hpp"
#include "support/one_server.hpp"
#include "support/proxy.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace zklock;
using namespace zklock::test;

namespace {

const server_starts_with memory_with_tls([](server_options& options) { options.secure.emplace(); });

} // namespace

TEST_CASE("memory fails once in a turn while a client connects: it is connected soon, and goes on with its session")
{
    proxy way(server().secure_port(), std::nullopt, speech::tls);
    bool was_connected = false;
    SUBCASE("for the first time") {}
    SUBCASE("again") { was_connected = true; }
    bool failed = true;
    int number = 1;
    for (; failed && number <= 400; ++number) {
        CAPTURE(number);
        auto options = options_for(way.address());
        options.tls.enabled = true;
        options.tls.ca_file = usual_authority().file();
        options.connect_backoff = options.connect_backoff_limit = milliseconds(4);
        const only_in_turns here;
        bridge_client c(options, false, here.turns);
        const std::size_t before = was_connected ? 1 : 0;
        c.store().attach(c);
        if (was_connected) {
            c.wait_connected();
            way.cut();
        }
        const auto session = c.session;
        const auto is_connected = [&] { return c.connections > before; };
        {
            const short_of_memory now(number);
            CHECK(runs_until(c.context(), is_connected, default_limit));
            failed = short_of_memory::has_struck();
        }
        if (!is_connected())
            break; // it would take as long each time
        CHECK((!was_connected || c.session == session));
        CHECK(c.create("/zklock-memory", node_kind::ephemeral).result == outcome::ok);
        c.close();
    }
    CHECK(number > 20); // it has struck at that many places
    CHECK_FALSE(failed);
}
