// sanitizers: none
// program: requests
// Margins that take much of the session: what works loses nothing, what cannot work is refused.
#include "integration/fault_scene.hpp"
#include "integration/kept_log.hpp"
#include "support/undisturbed.hpp"

using namespace zklock::test;

TEST_CASE("with a margin of more than half the session, nothing is lost over a healthy connection")
{
    zookeeper_server server;
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        proxy link(server.port());
        auto options = fault_options(link.address(), 4000ms);
        options.lease_margin = 2500ms;
        client zk(executor, options);
        must(co_await zk.wait_connected(default_limit));
        guard held = must(co_await mutex(zk, "/lease_margin/held").acquire());
        auto lost = begin_wait_lost(held);
        const auto before = link.count(opcode::sync);
        co_await until("heartbeats", [&] { return link.count(opcode::sync) >= before + 8 || lost.ended(); });
        CHECK_FALSE(lost.ended());
        CHECK(held);
        co_await release(held);
        must(co_await zk.close());
    };
    const auto wrong = play_undisturbed(250ms, [&](timed_scene&) { run_test(test_limit, body); });
    CHECK(wrong == "");
    expect_clean(server);
}

TEST_CASE("a margin that leaves no time in what the servers grant is refused")
{
    zookeeper_server server(with(&server_options::max_session_timeout, 2000ms));
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        auto options = fault_options(server.address(), 8000ms);
        const kept_log log;
        options.lease_margin = 5000ms;
        options.log = log;
        client zk(executor, options);
        CHECK(error_in(co_await mutex(zk, "/lease_margin/refused").acquire()) == errc::invalid_option);
        CHECK(error_in(co_await mutex(zk, "/lease_margin/refused").acquire()) == errc::invalid_option);
        CHECK(log.count(log_level::error) == 1);
        const result<void> usable = co_await zk.wait_connected();
        CHECK(usable.has_error());
        CHECK(usable.error() == errc::invalid_option);
        CHECK(zk.state() == connection_state::connected);
        const auto root = co_await zk.get("/"); // nodes need no lease
        CHECK(root.has_value());
        must(co_await zk.close());

        options.log = {};
        auto proving = options; // which also awaits the verdict on its credentials
        proving.auth.push_back({"digest", "ann:secret"});
        client early_to_ask(executor, proving);
        const result<void> not_usable = co_await early_to_ask.wait_connected(60s);
        CHECK(not_usable.has_error());
        CHECK(not_usable.error() == errc::invalid_option);
        must(co_await early_to_ask.close());

        options.lease_margin = 1000ms;
        client content(executor, options);
        must(co_await content.wait_connected());
        auto held = begin_acquire(mutex(content, "/lease_margin/held"));
        CHECK(!co_await held.end());
        co_await release_well(held);
        must(co_await content.close());
    };
    run_test(test_limit, body);
    expect_clean(server);
}
