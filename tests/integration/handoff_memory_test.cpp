// sanitizers: none
// program: memory
// No memory as clients tell each other what they let go: something is not said, and nothing else comes of it.
#include "integration/handoff_scene.hpp"
#include "support/failing_memory.hpp"

using namespace zklock;
using namespace zklock::test;

TEST_CASE("memory fails once as a node is offered, awaited and let go: it is told or it is not, and the next one is")
{
    bool failed = true;
    for (int number = 1; failed && number < 2'000; ++number) {
        CAPTURE(number);
        asio::io_context io;
        peers_end owner(io), waiting(io);
        {
            // What the test itself posts takes memory as well; so it calls from here, as if in turns.
            const auto at = owner.endpoint();
            const short_of_memory now(number);
            try {
                const auto node = owner->make_node();
                waiting->subscribe(node.commitment, at);
                for (int i = 0; i < 20; ++i)
                    io.poll();
                owner->publish(node, {});
                for (int i = 0; i < 20; ++i)
                    io.poll();
            } catch (const std::bad_alloc&) { // no node, or of the observer's own
            }
            failed = short_of_memory::has_struck();
        }
        CHECK(owner->inbound_count() <= 1);
        peers_end third(io); // nobody has tried to reach the owner from there
        const auto next = awaited_node(io, owner, third);
        owner.publish(next);
        run_until(io, [&] { return !third.heard.empty(); });
        CHECK(third.heard == std::vector{next.secret});
    }
    CHECK_FALSE(failed);
}
