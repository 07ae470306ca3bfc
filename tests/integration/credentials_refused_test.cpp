// sanitizers: none
// program: told
// A client whose credentials the servers refuse: what its metrics tell, and its listener, at the first connection and
// when it holds a lock.
#include "integration/recipe_scene.hpp"
#include "support/prometheus_page.hpp"
#include "support/zookeeper_server.hpp"

#include <utility>
#include <vector>

using namespace zklock;
using namespace zklock::test;

namespace {

/// The states that a client has told of; of `failed`, why.
struct told_states {
    [[nodiscard]] connection_listener listener(const asio::any_io_executor& executor)
    {
        return listen_to_connection(executor, [this](const connection_event& e) {
            states.push_back(e.state);
            CHECK((e.state == connection_state::failed) == static_cast<bool>(e.why));
            if (e.why)
                why.push_back(e.why);
        });
    }
    awaitable<void> until_failed()
    {
        const auto told = [this] { return !why.empty(); };
        co_await until("the failure is told", told);
        CHECK(states.back() == connection_state::failed);
        CHECK(why == std::vector<error_code>{errc::authentication_failed});
    }

    std::vector<connection_state> states;
    std::vector<error_code> why;
};

void check_metrics(const metrics& m)
{
    CHECK(m.state == connection_state::failed);
    CHECK(m.authentication_failures == 1);
    CHECK(m.expiries == 0);
    const prometheus_page page(prometheus_text(m));
    CHECK(page.value("zklock_authentication_failures_total") == 1);
    CHECK(page.value("zklock_connection_state", {{"state", "failed"}}) == 1);
    CHECK(page.value("zklock_connection_state", {{"state", "connected"}}) == 0);
}

} // namespace

TEST_CASE("credentials that no server knows")
{
    zookeeper_server server;
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        told_states told;
        client_options options = fault_options(server.address(), long_session);
        options.auth.push_back({"no_such_scheme", "secret"});
        options.listener = told.listener(executor);
        client zk(executor, options);
        auto waits = begin_acquire(mutex(zk, "/refused"));
        CHECK(co_await waits.end() == errc::authentication_failed);
        co_await told.until_failed();
        check_metrics(zk.metrics());
        CHECK(zk.metrics().all.failed == 1);
        must(co_await zk.close());
        CHECK(zk.metrics().authentication_failures == 1);
    };
    run_test(test_limit, body);
}

TEST_CASE("credentials that are refused at a reconnect: what was held is lost for that reason")
{
    zookeeper_server server;
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        told_states told;
        client_options options = fault_options(server.address(), long_session);
        options.auth.push_back({"digest", "ann:secret"});
        options.listener = told.listener(executor);
        client zk(executor, options);
        mutex lock(zk, "/refused");
        guard held = must(co_await lock.acquire(60s));
        CHECK(zk.metrics().authentication_failures == 0);
        auto waits = begin_acquire(lock);
        server.kill();
        server.options().java.push_back("-Dzookeeper.DigestAuthenticationProvider.enabled=false");
        server.start();
        must(co_await held.wait_lost());
        REQUIRE(held.loss());
        CHECK(held.loss()->reason == loss_reason::authentication_failed);
        CHECK(co_await waits.end() == errc::authentication_failed);
        co_await told.until_failed();
        const metrics m = zk.metrics();
        check_metrics(m);
        CHECK(m.all.lost(loss_reason::authentication_failed) == 1);
        CHECK(m.all.lost() == 1);
        CHECK(m.all.failed == 1);
        CHECK(m.all.held == 0);
        CHECK(m.disconnects >= 1);
        const prometheus_page page(prometheus_text(m));
        CHECK(page.value("zklock_losses_total", {{"reason", "authentication_failed"}}) == 1);
        must(co_await zk.close());
    };
    run_test(test_limit, body);
}
