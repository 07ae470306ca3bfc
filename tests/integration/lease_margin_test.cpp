// sanitizers: none
// program: requests
// Margins that take much of the session: what works loses nothing, what cannot work is refused.
#include "integration/fault_scene.hpp"
#include "support/undisturbed.hpp"

using namespace zklock::test;
using namespace std::chrono_literals;
using boost::asio::awaitable;
using zklock::errc;
using zklock::result;

TEST_CASE("with a margin of more than half the session, nothing is lost over a healthy connection")
{
    zookeeper_server server;
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await boost::asio::this_coro::executor;
        proxy link(server.port());
        auto options = fault_options(link.address(), 4000ms);
        options.lease_margin = 2500ms;
        zklock::client zk(executor, options);
        const result<void> connected = co_await zk.wait_connected(default_limit);
        REQUIRE(!connected.has_error());
        auto held = begin_acquire(zklock::mutex(zk, "/lease_margin/held"));
        REQUIRE(!co_await held.end());
        auto lost = begin_wait_lost(held.value());
        const auto before = link.count(opcode::sync);
        co_await until("heartbeats", [&] { return link.count(opcode::sync) >= before + 8 || lost.ended(); });
        CHECK_FALSE(lost.ended());
        CHECK(held.value());
        auto releasing = begin_release(held.value());
        CHECK(!co_await releasing.end());
        const result<void> closed = co_await zk.close();
        CHECK(!closed.has_error());
    };
    const auto wrong = play_undisturbed(250ms, [&](timed_scene&) { run_test(test_limit, body); });
    CHECK(wrong == "");
    expect_clean(server);
}

TEST_CASE("a margin that leaves no time in what the servers grant is refused")
{
    zookeeper_server server(with(&server_options::max_session_timeout, 2000ms));
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await boost::asio::this_coro::executor;
        auto options = fault_options(server.address(), 8000ms);
        std::vector<std::string> errors; // on the client's strand, which is this thread
        options.lease_margin = 5000ms;
        options.log = [&](zklock::log_level level, std::string_view text) {
            if (level == zklock::log_level::error)
                errors.emplace_back(text);
        };
        zklock::client zk(executor, options);
        auto early = begin_acquire(zklock::mutex(zk, "/lease_margin/refused"));
        CHECK(co_await early.end() == errc::invalid_option);
        auto late = begin_acquire(zklock::mutex(zk, "/lease_margin/refused"));
        CHECK(co_await late.end() == errc::invalid_option);
        CHECK(errors.size() == 1);
        const result<void> usable = co_await zk.wait_connected();
        CHECK(usable.has_error());
        CHECK(usable.error() == errc::invalid_option);
        CHECK(zk.state() == zklock::connection_state::connected);
        const auto root = co_await zk.get("/"); // nodes need no lease
        CHECK(root.has_value());
        const result<void> closed = co_await zk.close();
        CHECK(!closed.has_error());

        options.log = {};
        auto proving = options; // which also awaits the verdict on its credentials
        proving.auth.push_back({"digest", "ann:secret"});
        zklock::client early_to_ask(executor, proving);
        const result<void> not_usable = co_await early_to_ask.wait_connected(60s);
        CHECK(not_usable.has_error());
        CHECK(not_usable.error() == errc::invalid_option);
        const result<void> closed_unused = co_await early_to_ask.close();
        CHECK(!closed_unused.has_error());

        options.lease_margin = 1000ms;
        zklock::client content(executor, options);
        const result<void> content_with_it = co_await content.wait_connected();
        CHECK(!content_with_it.has_error());
        auto held = begin_acquire(zklock::mutex(content, "/lease_margin/held"));
        CHECK(!co_await held.end());
        auto releasing = begin_release(held.value());
        CHECK(!co_await releasing.end());
        const result<void> closed_too = co_await content.close();
        CHECK(!closed_too.has_error());
    };
    run_test(test_limit, body);
    expect_clean(server);
}
