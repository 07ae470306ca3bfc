// sanitizers: none
// program: tls
// Many at once over TLS: ten thousand waiters of one client, many clients that come back together after a restart, and
// a process that a signal would end if anybody wrote to a connection that is gone.
#include "integration/tls_scene.hpp"

#include <csignal>

using namespace zklock::test;

namespace {

const auto crowd_server = secured();

constexpr std::size_t many = 10'000;
constexpr std::size_t clients_at_once = 300;

awaitable<void> close_together(std::deque<client>& clients)
{
    std::vector<pending<>> closing(clients.size());
    for (std::size_t i = 0; i < clients.size(); ++i)
        clients[i].close(closing[i].handler());
    for (auto& each : closing) {
        CHECK_FALSE(co_await each.end());
    }
}

} // namespace

TEST_CASE("ten thousand waiters of one client are served in the order of their calls")
{
    play<0>({.clean = {"/tls/crowd"}}, [&]() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor, secure_options(server().secure_address(), 60s));
        mutex lock(zk, "/tls/crowd");
        guard first = must(co_await lock.acquire(default_limit));
        std::size_t granted = 0;
        bool in_order = true;
        std::int64_t token = first.fencing_token();
        for (std::size_t i = 0; i < many; ++i)
            lock.acquire([&, i](error_code ec, guard held) {
                in_order = in_order && !ec && granted == i && held.fencing_token() > token;
                token = held.fencing_token();
                ++granted;
                std::move(held).release([](error_code) {});
            });
        must(co_await std::move(first).release());
        co_await until(
            "all have had it", [&granted] { return granted == many; }, 120s);
        CHECK(in_order);
        CHECK(zk.metrics().disconnects == 0);
        co_await nothing_left(server().port());
        must(co_await zk.close());
    });
}

TEST_CASE("three hundred clients come back together after a restart, each with its session")
{
    zookeeper_server restarted(with_secure_port());
    const auto body = [&](const any_io_executor& executor) -> awaitable<void> {
        std::deque<client> clients;
        for (std::size_t i = 0; i < clients_at_once; ++i)
            clients.emplace_back(executor, secure_options(restarted.secure_address(), 30s));
        std::vector<std::int64_t> sessions;
        for (client& zk : clients) {
            must(co_await zk.wait_connected(default_limit));
            sessions.push_back(zk.session_id());
        }
        restarted.restart();
        for (client& zk : clients) {
            co_await until("it has noticed", [&zk] { return zk.metrics().disconnects != 0; });
            must(co_await zk.wait_connected(default_limit));
        }
        for (std::size_t i = 0; i < clients_at_once; ++i)
            CHECK(clients[i].session_id() == sessions[i]);
        co_await close_together(clients);
    };
    run_test(test_limit, body);
    expect_clean(restarted);
}

TEST_CASE("a hundred clients whose handshakes take longer than an attempt may at first: all wait longer, and come in")
{
    proxy slow(server().secure_port(), std::nullopt, speech::tls);
    play<0>([&](const any_io_executor& executor) -> awaitable<void> {
        const kept_log log;
        client_options options = secure_options(slow.address(), 6s);
        options.log = log;
        slow.delay(direction::replies, 1'200ms); // TLS 1.2 waits for two: an attempt has 2 s at first, and then 4
        std::deque<client> clients;
        for (int i = 0; i < 100; ++i)
            clients.emplace_back(executor, options);
        for (client& zk : clients)
            must(co_await zk.wait_connected(default_limit));
        slow.delay(direction::replies, 0ms);
        CHECK(log.has("did not agree on TLS in time"));
        CHECK(slow.accepted() >= 200);
        co_await close_together(clients);
    });
}

TEST_CASE("no SIGPIPE: writes, closes and destructors beside servers that have gone")
{
    struct sigaction before {
    }, usual{};
    usual.sa_handler = SIG_DFL; // whoever writes to a connection that is gone, without asking for silence, ends here
    REQUIRE(::sigaction(SIGPIPE, &usual, &before) == 0);
    const auto body = [&](const any_io_executor& executor) -> awaitable<void> {
        for (int round = 0; round < 20; ++round) {
            auto remote = std::make_unique<secure_client>(executor, server().secure_port());
            must(co_await remote->zk.wait_connected(default_limit));
            pending<node_content> answer;
            remote->link.cut(); // which the client will notice when it has written, or later
            remote->zk.get("/", answer.handler());
            if (round % 2 == 0)
                co_await answer.end();
            remote->link.cut();
            if (round % 4 < 2)
                must(co_await remote->zk.close());
            remote.reset();
            co_await answer.end();
        }
    };
    run_test(test_limit, body);
    REQUIRE(::sigaction(SIGPIPE, &before, nullptr) == 0);
    expect_clean(server());
}
