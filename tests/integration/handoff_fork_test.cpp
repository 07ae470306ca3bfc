// sanitizers: address
// program: handoffs
// A process that is forked off gets copies of a client's connections to others. What it does with them must not reach
// the parent's.
#include "integration/fork_scene.hpp"
#include "integration/handoff_scene.hpp"

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
            const auto life = [&] {
                // It says nothing, and nobody finds it.
                const bool inert = (*owner)->endpoint().empty();
                (*owner)->publish(node, {});
                (*waiting)->subscribe(node.commitment, "127.0.0.1:1");
                io->restart();
                io->poll();
                const bool silent = waiting->heard.empty();
                if (destroys) {
                    owner.reset();
                    waiting.reset();
                    io.reset();
                }
                return inert && silent ? 0 : 1;
            };
            CHECK((told ? in_child(*io, life) : in_child(life)) == 0);
            CHECK(owner->counted().connected_from == 1);
            owner->publish(node);
            run_until(*io, [&] { return !waiting->heard.empty(); });
            peers_end third(*io); // the port is open
            (void)awaited_node(*io, *owner, third);
        }
}

TEST_CASE("a child keeps no port open, and no connection, whether it has touched its copies or not")
{
    asio::io_context io;
    auto owner = std::make_unique<peers_end>(io);
    peers_end waiting(io), third(io);
    const auto node = awaited_node(io, *owner, waiting);
    const auto port = owner->endpoint();
    std::array<int, 2> end_of_child{};
    REQUIRE(::pipe(end_of_child.data()) == 0);
    const auto child = ::fork();
    REQUIRE(child != -1);
    if (child == 0) {
        ::alarm(60);
        ::close(end_of_child[1]);
        char none = 0;
        ::_exit(::read(end_of_child[0], &none, 1) == 0 ? 0 : 1); // until the parent says so
    }
    owner.reset();
    run_until(io, [&] { return waiting->outbound_count() == 0; });
    third.subscribe(node.commitment, port);
    CHECK(third->outbound_count() == 1);
    run_until(io, [&] { return third->outbound_count() == 0; });
    auto options = on_loopback();
    options.listen = port;
    CHECK(peers_end(io, options).endpoint() == port); // nobody has it
    ::close(end_of_child[0]);
    ::close(end_of_child[1]);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}
