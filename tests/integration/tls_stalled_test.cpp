// Connections over which nothing goes any more: closes, destructors and other servers do not wait for them.
#include "integration/tls_scene.hpp"

#include <deque>
#include <optional>

using namespace zklock;
using namespace zklock::test;

namespace {

const auto secure = secured();

/// Megabytes of writes that have nowhere to go.
std::deque<pending<node_stat>> queue_megabytes(client& zk)
{
    std::deque<pending<node_stat>> writes(16);
    const std::string half_a_megabyte(500'000, 'x');
    for (auto& each : writes)
        zk.set("/tls-stalled", half_a_megabyte, each.handler());
    return writes;
}

} // namespace

TEST_CASE("closed while megabytes wait for a connection that is stalled: soon, and each write is told")
{
    const auto body = [&]() -> awaitable<void> {
        for (const auto way : {direction::requests, direction::replies}) {
            secure_client remote(co_await asio::this_coro::executor, server().secure_port());
            must(co_await remote.zk.wait_connected(default_limit));
            must(co_await remote.zk.create("/tls-stalled", ""));
            remote.link.block(way);
            auto writes = queue_megabytes(remote.zk);
            const auto began = steady_clock::now();
            must(co_await remote.zk.close());
            CHECK(steady_clock::now() - began < 20s);
            for (auto& each : writes) {
                const error_code ec = co_await each.end();
                const bool told = ec == errc::closed || ec == errc::outcome_unknown;
                CHECK(told);
            }
            remote.link.unblock();
            admin_client(server().port()).remove("/tls-stalled");
        }
    };
    run_test(test_limit, body);
    expect_clean(server());
}

TEST_CASE("destroyed while megabytes wait for a connection that is stalled")
{
    for (const bool context_first : {false, true}) {
        CAPTURE(context_first);
        admin_client admin(server().port());
        admin.create("/tls-stalled");
        auto io = std::make_unique<asio::io_context>();
        std::optional<secure_client> remote(std::in_place, io->get_executor(), server().secure_port(), 4s);
        std::optional<error_code> connected;
        remote->zk.wait_connected([&](error_code ec) { connected = ec; });
        while (!connected)
            io->run_one_for(100ms);
        remote->link.block(direction::requests);
        auto writes = queue_megabytes(remote->zk);
        io->poll();
        const auto began = steady_clock::now();
        if (context_first)
            io.reset();
        {
            client last = remote->zk;
            static_cast<void>(last);
        }
        remote.reset();
        io.reset();
        CHECK(steady_clock::now() - began < 10s);
        admin.remove("/tls-stalled");
    }
    expect_clean(server());
}

TEST_CASE("megabytes of writes pass, in turn with what is read, and a stall in between delays them only")
{
    const auto body = [&]() -> awaitable<void> {
        secure_client remote(co_await asio::this_coro::executor, server().secure_port(), 60s);
        must(co_await remote.zk.wait_connected(default_limit));
        must(co_await remote.zk.create("/tls-stalled", ""));
        for (int round = 0; round < 3; ++round) {
            remote.link.block(round % 2 == 0 ? direction::requests : direction::replies);
            auto writes = queue_megabytes(remote.zk);
            std::deque<pending<node_content>> reads(16);
            for (auto& each : reads)
                remote.zk.get("/tls-stalled", each.handler());
            remote.link.unblock();
            for (auto& each : writes) {
                const error_code ec = co_await each.end();
                CHECK_FALSE(ec);
            }
            for (auto& each : reads) {
                const error_code ec = co_await each.end();
                CHECK_FALSE(ec);
                CHECK(each.value().data.size() == 500'000);
            }
        }
        CHECK(remote.link.accepted() == 1);
        must(co_await remote.zk.remove("/tls-stalled"));
        must(co_await remote.zk.close());
    };
    run_test(test_limit, body);
    expect_clean(server());
}

TEST_CASE("closed and destroyed in the middle of a handshake that goes no further")
{
    const auto body = [&]() -> awaitable<void> {
        for (const bool close : {true, false})
            for (const auto way : {direction::requests, direction::replies}) {
                std::optional<secure_client> remote(std::in_place, co_await asio::this_coro::executor,
                                                    server().secure_port());
                remote->link.block(way);
                auto waits = begin_acquire(mutex(remote->zk, "/tls/stalled"));
                proxy* const link = &remote->link;
                co_await until("it has begun", [link] { return link->accepted() == 1; });
                const auto began = steady_clock::now();
                if (close)
                    must(co_await remote->zk.close());
                remote.reset();
                CHECK(co_await waits.end() == errc::closed);
                CHECK(steady_clock::now() - began < 10s);
            }
    };
    run_test(test_limit, body);
    expect_clean(server(), {"/tls/stalled"});
}
