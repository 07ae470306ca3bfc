// zklock::testing: what it refuses, and what befalls nobody.
#include "ensemble_scene.hpp"
#include "support/run_until.hpp"

#include <boost/asio/use_future.hpp>

#include <atomic>
#include <stdexcept>
#include <thread>

using namespace zklock::test;

TEST_CASE("what befalls a session that is not known, befalls nobody")
{
    ensemble zookeeper;
    for (const std::int64_t session : {std::int64_t{0}, std::int64_t{0x1000'0001}}) { // the next client's
        zookeeper.part(session);
        zookeeper.cut(session);
        zookeeper.expire(session);
    }
    const auto body = [&]() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor, options_for(zookeeper));
        const bool connected(co_await zk.wait_connected(5s));
        CHECK(connected);
        CHECK(co_await zk.create("/a", "1"));
        REQUIRE(co_await zk.close());
    };
    run_test(limit, body);
}

TEST_CASE("an outage takes the clock few steps, and the client is back as soon as it can be")
{
    std::size_t steps = 0; // of the clock's that a second has twenty of, or less
    auto before = lease_clock::now();
    bool counts = true; // the timer's last handler may come later than the body's end
    std::function<void()> wait;
    with_client([&](ensemble& zookeeper, client zk) -> awaitable<void> {
        testing::timer due(co_await asio::this_coro::executor);
        wait = [&] {
            due.expires_after(1ms);
            due.async_wait([&](error_code ec) {
                if (ec || !counts)
                    return;
                steps += lease_clock::now() - std::exchange(before, lease_clock::now()) > 30ms;
                wait();
            });
        };
        wait();
        zookeeper.stop();
        REQUIRE(co_await zookeeper.pass(1min));
        counts = false;
        due.cancel();
        CHECK(steps < 600); // one for each second, and some on a busy machine
        const auto stopped = lease_clock::now();
        zookeeper.start();
        REQUIRE(co_await zk.wait_connected(10s));
        CHECK(lease_clock::now() - stopped < 900ms);
    });
}

TEST_CASE("what is granted after an outage is kept while the servers answer, however long the outage was")
{
    for (const milliseconds outage : {5000ms, 7000ms, 7500ms, 8000ms, 8500ms, 9000ms, 9500ms, 9800ms}) {
        CAPTURE(outage.count());
        with_client([&](ensemble& zookeeper, client zk) -> awaitable<void> {
            const auto session = zk.session_id();
            mutex local(zk, "/local");
            auto first = co_await local.acquire(5s);
            REQUIRE(first);
            REQUIRE(co_await zookeeper.pass(10s));
            REQUIRE(co_await zk.exists("/local")); // the servers hear of the session now
            zookeeper.part(session);
            REQUIRE(co_await zookeeper.pass(outage));
            zookeeper.mend(session);
            const auto mended = lease_clock::now();
            int granted = 0;
            int lost = 0;
            const auto hold = [&](auto lock) -> awaitable<void> {
                auto held = co_await lock.acquire(5s);
                REQUIRE(held);
                ++granted;
                CHECK(lease_clock::now() - mended < 3s);
                testing::timer work(co_await asio::this_coro::executor, 12s);
                held.value().wait_lost([&](error_code ec) { // aborted with the release
                    lost += !ec;
                    work.cancel();
                });
                co_await work.async_wait(asio::as_tuple(asio::use_awaitable));
                if (held.value())
                    CHECK(co_await std::move(held.value()).release());
            };
            const auto executor = co_await asio::this_coro::executor;
            asio::co_spawn(executor, hold(mutex(zk, "/order")), asio::detached);
            asio::co_spawn(executor, hold(semaphore(zk, "/gate", 2)), asio::detached);
            asio::co_spawn(executor, hold(local), asio::detached); // passed on by its holder
            (void)co_await std::move(first.value()).release();
            REQUIRE(co_await zookeeper.pass(20s));
            CHECK(granted == 3);
            CHECK(lost == 0);
            CHECK(zk.session_id() == session);
        });
    }
}

TEST_CASE("a permit is held by another program, as a lock is")
{
    with_client([](ensemble& zookeeper, client zk) -> awaitable<void> {
        const auto permit = zookeeper.hold("/gate/leases", "billing");
        semaphore gate(zk, "/gate", 1);
        CHECK(ended_with(co_await gate.try_acquire()) == errc::busy);
        CHECK(zookeeper.remove(permit));
        CHECK(co_await gate.acquire(5s));
    });
}

TEST_CASE("threads that let time pass at once: one does, the others are refused")
{
    ensemble zookeeper;
    std::atomic<int> passed = 0, refused = 0;
    const auto passes = [&] {
        for (int i = 0; i < 300; ++i) {
            try {
                zookeeper.pass(1ms, asio::use_future).get();
                ++passed;
            } catch (const std::logic_error&) {
                ++refused;
            }
        }
    };
    std::thread another(passes);
    passes();
    another.join();
    CHECK(passed + refused == 600);
    CHECK(passed > 0);
}

TEST_CASE("what is refused")
{
    ensemble zookeeper;
    for (const char* const path : {"a", "/a/", "/a//b", ""})
        CHECK_THROWS_AS(zookeeper.create(path), boost::system::system_error);
    CHECK(zookeeper.children("/").empty());
    CHECK(zookeeper.create("/numbered/", "", node_kind::persistent_sequential) == "/numbered/0000000000");
    CHECK_THROWS_AS(zookeeper.stall(-1s), std::logic_error);
    CHECK_THROWS_AS(ensemble(), std::invalid_argument); // the name is taken
    CHECK_THROWS_AS(ensemble("no server!"), std::invalid_argument);
    CHECK_THROWS_AS(ensemble("a:1/chroot"), std::invalid_argument);
    {
        const ensemble another("another:1");
        CHECK_THROWS_AS(zookeeper.stall(1s), std::logic_error);
    }
    asio::io_context io;
    bool tried = false; // to connect
    {
        client_options options;
        options.servers = "127.0.0.1:1";
        options.log = [&tried](log_level, std::string_view line) {
            tried |= line.find("cannot connect to") != line.npos;
        };
        client real(io, options);
        run_until(io, [&tried] { return tried; });
        CHECK_THROWS_AS(zookeeper.stall(1s), std::logic_error);
    }
    io.run();
    zookeeper.stall(1s);
    CHECK_THROWS_AS(zookeeper.create("/"), boost::system::system_error);
    CHECK_FALSE(zookeeper.remove("/none"));
    CHECK_FALSE(zookeeper.set("/none", ""));
    CHECK_FALSE(zookeeper.get("/none"));
}
