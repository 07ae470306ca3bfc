// program: adapter
// Closing at awkward moments: what is told, in which order, and what is told no more.
#include "integration/adapter_scene.hpp"
#include "support/expect_clean.hpp"
#include "support/one_server.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace zklock;
using namespace zklock::test;

TEST_CASE("close: everything pending first, then the close, again, and nothing afterwards")
{
    asio::io_context io;
    client c(io, options_for(server().address()));
    client nowhere(io, options_for("127.0.0.1:1"));
    mutex lock(c, "/life");
    guard held = hold(io, lock);
    std::vector<std::string> order;
    auto note = [&](std::string what) {
        return [&order, what](error_code ec, auto&&...) { order.push_back(what + ec.message()); };
    };
    auto note_guard = note("acquire: ");
    const auto closed = make_error_code(errc::closed).message();
    const auto success = error_code().message();

    lock.acquire(note_guard);
    lock.acquire(1h, note_guard);
    held.wait_lost(note("lost: "));
    std::size_t queued = 0;
    while (queued < 3) {
        std::optional<std::size_t> found;
        lock.contenders([&](error_code, const std::vector<contender>& queue) { found = queue.size(); });
        run_until(io, [&] { return found.has_value(); });
        queued = *found;
    }
    nowhere.wait_connected(1h, note("connected: "));
    nowhere.close(note("close: "));
    run_until(io, [&] { return order.size() == 2; });
    CHECK(order == std::vector<std::string>{"connected: " + closed, "close: " + success});
    order.clear();

    c.close(note("close: "));
    c.close(note("close again: "));
    lock.acquire(note_guard); // too late
    run_until(io, [&] { return order.size() == 6; });
    CHECK(order[4] == "close: " + success);
    CHECK(order[5] == "close again: " + success);
    CHECK(std::count(order.begin(), order.end(), "acquire: " + closed) == 3);
    CHECK(std::count(order.begin(), order.end(), "lost: " + success) == 1);

    order.clear();
    lock.acquire(note_guard);
    c.wait_connected(1h, note("connected: "));
    lock.contenders(note("contenders: "));
    c.close(note("close: "));
    run_dry(io);
    CHECK(order == std::vector<std::string>{"acquire: " + closed, "connected: " + closed, "contenders: " + closed,
                                            "close: " + success});
    CHECK(c.state() == connection_state::closed);
    CHECK(c.session_id() == 0);
    expect_clean(server(), {"/life"});
}

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
