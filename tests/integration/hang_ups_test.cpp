// sanitizers: none
// program: told
// A server that takes the session and answers, but hangs up at each create (which is too long for it, say).
#include "integration/recipe_scene.hpp"

#include <cstddef>
#include <optional>
#include <string>

using namespace zklock;
using namespace zklock::test;
using namespace std::chrono_literals;

TEST_CASE("hung up on at each create: few connects in a time-out; who waits in vain is told of it")
{
    const std::string path = "/hang_ups/at_each_create";
    const auto body = [&]() -> awaitable<void> {
        proxy link(server().port());
        client_options options;
        options.servers = link.address();
        options.session_timeout = 2000ms;
        options.server_tick = usual_tick;
        client zk(co_await asio::this_coro::executor, options);
        mutex lock(zk, path);
        {
            guard held = must(co_await lock.acquire(default_limit)); // the path is there
            must(co_await std::move(held).release());
        }
        const std::size_t before = link.accepted();
        for (int creates = 0; creates < 1000; ++creates)
            link.on_next(opcode::create2, moment::request, fate::cut);
        CHECK(error_in(co_await lock.acquire(3 * options.session_timeout)) == errc::not_connected);
        const std::size_t connects = link.accepted() - before;
        CHECK(connects > 3);
        CHECK(connects <= 3 * 17);
        CHECK(link.count(opcode::sync) >= connects / 2); // it does answer
        CHECK_FALSE(link.struck());
        CHECK(zk.metrics().expiries == 0);
        const std::optional<wait_report> told = lock.last_timeout();
        REQUIRE(told);
        REQUIRE(told->not_connected_for);
        CHECK(*told->not_connected_for > 2 * options.session_timeout);
        REQUIRE(told->addresses.size() == 1);
        CHECK(told->addresses[0].address == link.address());
        CHECK(told->addresses[0].why.starts_with(link.address() + " was connected, and lost "));
        CHECK(told->addresses[0].why.ends_with(" in a row"));
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    expect_clean(server());
}
