// program: adapter
// Closing at awkward moments: what is told, in which order, and what is told no more.
#include "integration/adapter_scene.hpp"
#include "support/expect_clean.hpp"
#include "support/one_server.hpp"

using namespace zklock::test;

TEST_CASE("close: whatever is begun before it is done is told before it")
{
    // Never connected, nothing is left to chance: each round has the same steps, after one of which something is begun.
    const auto order_of = [](std::size_t begun_after, std::size_t& steps) {
        asio::io_context io;
        client c(io, options_for("127.0.0.1:1"));
        std::vector<std::string> order;
        c.close([&](error_code) { order.push_back("close"); });
        for (steps = 0; order.empty() || order.back() != "close"; ++steps) {
            if (steps == begun_after)
                c.get("/", [&](error_code ec, const node_content&) {
                    CHECK(ec == errc::closed);
                    order.push_back("get");
                });
            io.restart();
            REQUIRE(io.run_one_for(60s) == 1);
        }
        run_dry(io);
        return order;
    };
    std::size_t steps_of_a_close = 0, steps = 0;
    CHECK(order_of(1'000'000, steps_of_a_close) == std::vector<std::string>{"close"});
    REQUIRE(steps_of_a_close > 2);
    // Before the last step the close's handler is on its way.
    for (std::size_t begun_after = 0; begun_after + 1 < steps_of_a_close; ++begun_after) {
        CAPTURE(begun_after);
        CHECK(order_of(begun_after, steps) == std::vector<std::string>{"get", "close"});
    }
}

TEST_CASE("a handler that closes, and one that destroys everything")
{
    asio::io_context io;
    auto c = std::make_unique<client>(io, options_for(server().address()));
    auto lock = std::make_unique<mutex>(*c, "/life");
    guard held;
    int ended = 0;
    for (int i = 0; i < 3; ++i)
        lock->acquire([&](error_code ec, guard) {
            CHECK((!ec || ec == errc::closed));
            ++ended;
        });
    lock->acquire(60s, [&](error_code ec, guard g) {
        CHECK_FALSE(ec);
        auto mine = std::move(g);
        ++ended;
        lock->acquire([&](error_code, guard) { ++ended; });
        lock.reset();
        c.reset();
    });
    run_dry(io);
    CHECK(ended == 5);

    client other(io, options_for(server().address()));
    mutex again(other, "/life");
    again.acquire(60s, [&](error_code, guard g) {
        held = std::move(g);
        other.close([&](error_code) {
            CHECK_FALSE(held);
            ++ended;
        });
    });
    run_dry(io);
    CHECK(ended == 6);
    expect_clean(server(), {"/life"});
}
