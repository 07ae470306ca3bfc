// sanitizers: address
// A process that is forked off gets copies of a client's connections to others. What it does with them must not reach
// the parent's.
#include "integration/handoff_scene.hpp"

#include <sys/wait.h>
#include <unistd.h>

using namespace zklock;
using namespace zklock::test;

TEST_CASE("a child that destroys its copies leaves the parent's port and connections alone")
{
    for (const bool told : {false, true})
        for (const bool destroys : {false, true}) {
            CAPTURE(told);
            CAPTURE(destroys);
            auto io = std::make_unique<asio::io_context>();
            auto owner = std::make_unique<peers_end>(*io);
            auto waiting = std::make_unique<peers_end>(*io);
            const auto node = awaited_node(*io, *owner, *waiting);
            if (told)
                io->notify_fork(asio::execution_context::fork_prepare);
            const auto child = ::fork();
            REQUIRE(child != -1);
            if (child == 0) {
                ::alarm(60);
                if (told)
                    io->notify_fork(asio::execution_context::fork_child);
                // It says nothing, and nobody finds it.
                const bool inert = (*owner)->endpoint().empty();
                (*owner)->publish(node.secret, {});
                (*waiting)->subscribe(node.name, "127.0.0.1:1");
                io->restart();
                io->poll();
                const bool silent = waiting->heard.empty();
                if (destroys) {
                    owner.reset();
                    waiting.reset();
                    io.reset();
                }
                ::_exit(inert && silent ? 0 : 1);
            }
            if (told)
                io->notify_fork(asio::execution_context::fork_parent);
            int status = 0;
            REQUIRE(::waitpid(child, &status, 0) == child);
            CHECK(WIFEXITED(status));
            CHECK(WEXITSTATUS(status) == 0);
            CHECK((*owner)->inbound_count() == 1);
            owner->publish(node);
            run_until(*io, [&] { return !waiting->heard.empty(); });
            peers_end third(*io); // the port is open
            (void)awaited_node(*io, *owner, third);
        }
}
