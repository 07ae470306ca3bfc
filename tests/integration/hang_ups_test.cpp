// sanitizers: none
// program: told
// A server that takes the session and answers, but hangs up at each create (which is too long for it, say).
#include "integration/recipe_scene.hpp"

using namespace zklock::test;

TEST_CASE("hung up on at each create: few connects in a time-out; who waits in vain is told of it")
{
    const std::string path = "/hang_ups/at_each_create";
    play<0>([&]() -> awaitable<void> {
        proxy link(server().port());
        auto options = options_for(link.address(), 2000ms);
        options.server_tick = usual_tick;
        client zk(co_await asio::this_coro::executor, options);
        mutex lock(zk, path);
        {
            guard held = must(co_await lock.acquire(default_limit)); // the path is there
            // The connection proves itself, so that those count that come after it.
            const auto of_use = steady_clock::now() + options.session_timeout / 4;
            co_await until("it is of use for long", [&] { return steady_clock::now() >= of_use; });
            must(co_await std::move(held).release());
        }
        const std::size_t before = link.accepted();
        for (int creates = 0; creates < 1000; ++creates)
            link.on_next(opcode::create2, moment::request, fate::cut);
        CHECK(error_in(co_await lock.acquire(3 * options.session_timeout)) == errc::not_connected);
        const auto accepted_at = link.accepted_at();
        const std::size_t connects = accepted_at.size() - before;
        CHECK(connects > 3);
        for (std::size_t first = before; first + 17 < accepted_at.size(); ++first)
            CHECK(accepted_at[first + 17] - accepted_at[first] > options.session_timeout);
        CHECK(link.count(opcode::sync) >= connects / 2); // it does answer
        CHECK_FALSE(link.struck());
        CHECK(zk.metrics().expiries == 0);
        const std::optional<wait_report> told = lock.last_timeout();
        REQUIRE(told);
        REQUIRE(told->not_connected_for);
        CHECK(*told->not_connected_for > 2 * options.session_timeout);
        REQUIRE(told->addresses.size() == 1);
        CHECK(told->addresses[0].address == link.address());
        const auto lost_in_a_row = [&](std::size_t connections) {
            return link.address() + " was connected, and lost before it was of use for long, the last of " +
                   std::to_string(connections) + " in a row";
        };
        const std::string& why = told->addresses[0].why;
        CAPTURE(why);
        CAPTURE(connects);
        // The first to be lost had proved itself. The last may have been there still.
        CHECK((why == lost_in_a_row(connects) || why == lost_in_a_row(connects - 1)));
        must(co_await zk.close());
    });
}
