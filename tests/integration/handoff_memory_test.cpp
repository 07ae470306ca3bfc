// sanitizers: none
// program: memory
// Memory fails once, at whichever allocation, as a lock is handed over past the servers: one client fails as a whole,
// and the other goes on.
#include "integration/memory_scene.hpp"
#include "support/expect_clean.hpp"
#include "support/four_letter_words.hpp"
#include "support/one_server.hpp"

using namespace zklock::test;

TEST_CASE("memory fails once as a lock is handed over past the servers: never both hold, and one client goes on")
{
    auto options = options_for(server().address(), 4s);
    options.handoff.listen = "127.0.0.1:0";
    options.handoff.peers.emplace_back("127.0.0.1");
    int failures = 0;
    bool struck = true;
    for (int number = 1; struck; ++number) {
        CAPTURE(number);
        const std::string path = "/memory-of-hand-offs-" + std::to_string(number);
        asio::io_context io;
        client first(io, options), second(io, options);
        mutex own(first, path), other(second, path);
        guard held = take(io, own), next;
        const ending waits;
        other.acquire([&next, calls = waits.handler()](error_code ec, guard given) {
            calls(ec);
            next = std::move(given);
        });
        run_past_failures(io, [&] { return second.metrics().handoff.connected_to == 1; });
        struck = destroy_short_of_memory(held, io, number, [&] { return waits.is_over(); });
        CHECK(!(held && next));
        for (client* each : {&first, &second}) {
            const bool failed = each->state() == connection_state::failed;
            failures += failed;
            if (failed)
                continue;
            mutex alone(*each, path + "-alone");
            CHECK(take(io, alone));
            close(io, *each);
        }
        run_past_failures(io, [&] { return waits.is_over() && io.stopped(); });
    }
    CHECK(failures > 20);
    expect_clean(server());
}
