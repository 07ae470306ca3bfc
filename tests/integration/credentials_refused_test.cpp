// sanitizers: none
// program: told
// A client whose credentials the servers refuse, or that has not those which they demand: what its metrics tell, its
// listener and its log, at the first connection and when it holds a lock. Also what servers refuse for rarer reasons.
#include "integration/kept_log.hpp"
#include "integration/recipe_scene.hpp"
#include "support/prometheus_page.hpp"

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
        co_await until("the failure is told", [this] { return !why.empty(); });
        CHECK(states.back() == connection_state::failed);
        CHECK(why == std::vector<error_code>{errc::authentication_failed});
    }

    std::vector<connection_state> states;
    std::vector<error_code> why;
};

constexpr const char* without_digest = "-Dzookeeper.DigestAuthenticationProvider.enabled=false";

/// A server that takes the session of whoever comes, and refuses what he asks before he has shown credentials.
server_options demanding(const std::string& scheme)
{
    return with(&server_options::java,
                {"-Dzookeeper.enforce.auth.enabled=true", "-Dzookeeper.enforce.auth.schemes=" + scheme});
}

credentials of_ann()
{
    return {"digest", "ann:secret"};
}

struct rare_error {
    std::int32_t code;
    errc told;
    const char* words;
};

// Not in a coroutine: see src/README.md on gcc 12.
constexpr rare_error rare_errors[] = {{-120, errc::server_error, "EPHEMERALONLOCALSESSION (-120)"},
                                      {-123, errc::server_error, "RECONFIGDISABLED (-123)"},
                                      {-125, errc::quota_exceeded, "QUOTAEXCEEDED (-125)"},
                                      {-126, errc::server_error, "error -126,"},
                                      {-131, errc::server_error, "error -131,"},
                                      {-122, errc::outcome_unknown, "REQUESTTIMEOUT (-122)"},
                                      {-127, errc::outcome_unknown, "THROTTLEDOP (-127)"}};

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
    const auto body = [&](const any_io_executor& executor) -> awaitable<void> {
        told_states told;
        client_options options = fault_options(server.address(), long_session);
        options.auth.push_back({"no_such_scheme", "secret"});
        options.listener = told.listener(executor);
        client zk(executor, options);
        CHECK(error_in(co_await mutex(zk, "/refused").acquire()) == errc::authentication_failed);
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
    const auto body = [&](const any_io_executor& executor) -> awaitable<void> {
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
        server.options().java.push_back(without_digest);
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

TEST_CASE("one server of several refuses the credentials at a reconnect: the session goes on at another, with its lock")
{
    zookeeper_ensemble ensemble(3);
    const std::size_t refusing = ensemble.follower();
    ensemble[refusing].kill();
    ensemble[refusing].options().java.push_back(without_digest);
    ensemble[refusing].start();
    ensemble.wait_all();
    const auto body = [&](const any_io_executor& executor) -> awaitable<void> {
        proxy link(ensemble[refusing == 0 ? 1 : 0].port());
        proxy to_refusing(ensemble[refusing].port());
        admin_client admin(ensemble[refusing].port());
        const kept_log log;
        told_states told;
        client_options options = fault_options(link.address() + ',' + to_refusing.address(), long_session);
        options.auth.push_back(of_ann());
        options.listener = told.listener(executor);
        options.log = log;
        client zk(executor, options);
        mutex lock(zk, "/refused");
        guard held = must(co_await lock.acquire(60s));
        admin.sync("/"); // else it would hang up on a client that has seen more
        const std::int64_t session = zk.session_id();
        const auto before = to_refusing.accepted();
        const auto transactions = link.count(opcode::multi);
        const auto is_refused = [&] { return to_refusing.accepted() > before && to_refusing.connections() == 0; };
        const auto goes_on = [&] { return zk.state() == connection_state::connected && link.connections() == 1; };
        link.cut();
        co_await until("it is refused", is_refused);
        co_await until("it is connected again", goes_on);
        // The log may have said so before, when it connected first, and does not repeat itself within a second.
        CHECK(log.count(log_level::warning, to_refusing.address() + " refuses the credentials") >= 1);
        // What the client had seen was forgotten, so nobody was told of the connection before the server had caught up.
        CHECK(link.count(opcode::multi) == transactions + 1);
        CHECK(zk.session_id() == session);
        CHECK(must(co_await zk.exists(held.node())));
        CHECK(held);
        CHECK_FALSE(held.loss());
        CHECK(told.why.empty());
        CHECK(zk.metrics().authentication_failures == 0);
        CHECK(log.count(log_level::error) == 0);
        co_await release(std::move(held));
        must(co_await zk.close());
    };
    run_test(test_limit, body);
}

TEST_CASE("where authentication is demanded, a client without it ends with the reason")
{
    zookeeper_server server(demanding("digest"));
    const auto body = [&](const any_io_executor& executor) -> awaitable<void> {
        const kept_log log;
        told_states told;
        client_options options = fault_options("127.0.0.1:1," + server.address(), long_session);
        options.listener = told.listener(executor);
        options.log = log;
        client nameless(executor, options);
        CHECK(error_in(co_await mutex(nameless, "/demanded").acquire()) == errc::authentication_failed);
        co_await told.until_failed();
        check_metrics(nameless.metrics());
        const std::string words = server.address() + " demands authentication (SESSIONCLOSEDREQUIRESASLAUTH, -124)";
        CHECK(log.count(log_level::warning, words) == 1);
        CHECK(log.count(log_level::error, words) == 1);
        CHECK(log.count(log_level::error) == 1);
        must(co_await nameless.close());

        client_options with = fault_options(server.address(), long_session);
        with.auth.push_back(of_ann());
        client ann(executor, with);
        co_await take_turn(mutex(ann, "/demanded"), 60s);
        must(co_await ann.close());
    };
    run_test(test_limit, body);
}

TEST_CASE("what servers refuse for a rare reason is told once, with its name and number")
{
    play<0>([&]() -> awaitable<void> {
        proxy link(server().port());
        const kept_log log;
        client_options options = fault_options(link.address(), long_session);
        options.log = log;
        client zk(co_await asio::this_coro::executor, options);
        must(co_await zk.wait_connected(60s));
        co_await until_asked(link, opcode::sync); // the heartbeat of the beginning
        must(co_await zk.create("/rare", "0"));   // is answered after it: nothing else is on its way
        for (const rare_error& each : rare_errors) {
            CAPTURE(each.code);
            for (int i = 0; i < 2; ++i) {
                link.refuse_next(opcode::set_data, each.code);
                CHECK(error_in(co_await zk.set("/rare", "1")) == each.told);
                CHECK(must(co_await zk.get("/rare")).data == "0");
            }
            CHECK(log.count(log_level::warning, link.address() + " answers with " + each.words) == 1);
        }
        must(co_await zk.remove("/rare"));
        must(co_await zk.close());
    });
}
