// sanitizers: none
// program: told
// How many servers have to say that they do not know a session. set_back_test has those that all say so.
#include "integration/fault_scene.hpp"
#include "integration/kept_log.hpp"

using namespace zklock::test;

TEST_CASE("one server of three that has lost its data ends no session; two do")
{
    zookeeper_server first, second;
    second.kill();
    const port_lease nobody;
    const auto body = [&]() -> awaitable<void> {
        const std::string servers =
            first.address() + ',' + second.address() + ",127.0.0.1:" + std::to_string(nobody.port());
        const kept_log log;
        auto options = fault_options(servers, milliseconds(6'000));
        options.log = log;
        client zk(co_await asio::this_coro::executor, options);
        must(co_await zk.wait_connected(default_limit));
        const std::int64_t session = zk.session_id();
        write_much(first);
        const bool seen = must(co_await zk.exists("/much99")).has_value();
        CHECK(seen); // so the client has seen more than a server that begins anew
        first.kill();
        first.wipe();
        first.start();
        co_await until("the session should be over", [&] { return zk.state() == connection_state::connecting; });
        co_await until(
            "it has said four times that there is none",
            [&] { return log.count(log_level::info, "knows no session") >= 4 || zk.session_id() != session; },
            test_limit);
        CHECK(zk.session_id() == session);
        CHECK(zk.metrics().expiries == 0);
        second.start();
        co_await until("there is a new session", [&] { return zk.session_id() != 0 && zk.session_id() != session; });
        CHECK(zk.metrics().expiries == 1);
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    expect_clean(first);
    expect_clean(second);
}
