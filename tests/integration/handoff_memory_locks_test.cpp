// sanitizers: none
// program: memory
// Memory that fails once, at whichever allocation, as a lock is handed over past the servers: who waits has it in the
// end, by one way or the other, and both clients go on.
#include "integration/memory_scene.hpp"
#include "support/expect_clean.hpp"
#include "support/four_letter_words.hpp"
#include "support/one_server.hpp"

#include <optional>
#include <string>

using namespace zklock;
using namespace zklock::test;

TEST_CASE("memory fails once as a lock is handed over past the servers: nobody waits for ever, and both go on")
{
    auto options = hasty_options_for(server().address());
    options.handoff.listen = "127.0.0.1:0";
    options.handoff.peers.emplace_back("127.0.0.1");
    asio::io_context io;
    client first(io, options), second(io, options);
    const std::string path = "/memory-of-hand-offs-past-the-servers";
    mutex own(first, path), other(second, path);
    bool failed = true;
    for (int number = 1; failed; ++number) {
        CAPTURE(number);
        guard held = take(io, own), next;
        std::optional<error_code> ended;
        other.acquire([&](error_code ec, guard given) {
            ended = ec;
            next = std::move(given);
        });
        run_past_failures(io, [&] { return watch_count(server().port()) >= 2 && ephemeral_count(server().port()) == 2; });
        failed = destroy_short_of_memory(held, io, number, [&] { return ended.has_value(); });
        run_past_failures(io, [&] { return ended.has_value(); });
        if (!*ended) {
            CHECK(next);
            CHECK_FALSE(own.is_held());
        }
        next = guard();
        next = take(io, other);
        next = guard();
    }
    close(io, first);
    close(io, second);
    expect_clean(server(), {path});
}
