// zklock::testing: clients, as a program makes them, on an ensemble in memory.
#include "ensemble_scene.hpp"
#include "support/run_until.hpp"

#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>

using namespace zklock::test;

TEST_CASE("a lock is granted, seen by the servers, and released")
{
    with_client([](ensemble& zookeeper, client zk) -> awaitable<void> {
        mutex lock(zk, "/shop/stock");
        auto held = co_await lock.acquire(5s);
        REQUIRE(held);
        CHECK(held.value());
        CHECK(held.value().fencing_token() > 0);
        REQUIRE(zookeeper.children("/shop/stock").size() == 1);
        CHECK("/shop/stock/" + zookeeper.children("/shop/stock").front() == held.value().node());
        REQUIRE(co_await std::move(held.value()).release());
        CHECK(zookeeper.children("/shop/stock").empty());
    });
}

TEST_CASE("somebody else holds the lock: busy, timed out, granted when it goes")
{
    with_client([](ensemble& zookeeper, client zk) -> awaitable<void> {
        const std::string theirs = zookeeper.hold("/shop/stock", "billing");
        mutex lock(zk, "/shop/stock");
        CHECK(ended_with(co_await lock.try_acquire()) == errc::busy);
        CHECK(co_await acquire_in_vain(zookeeper, lock) == errc::timed_out);
        const auto why = lock.last_timeout();
        REQUIRE(why);
        REQUIRE(why->held_by);
        CHECK(why->held_by->identifier == "billing");
        const auto acquires = [&]() -> awaitable<result<guard>> { co_return co_await lock.acquire(5s); };
        auto waits = asio::co_spawn(co_await asio::this_coro::executor, acquires(), asio::use_future);
        while (zookeeper.children("/shop/stock").size() != 2)
            co_await asio::post(asio::use_awaitable);
        CHECK(zookeeper.remove(theirs));
        while (waits.wait_for(0s) != std::future_status::ready)
            co_await asio::post(asio::use_awaitable);
        CHECK(waits.get());
    });
}

TEST_CASE("an expired session: the holder is told, and the client has another session")
{
    with_client([](ensemble& zookeeper, client zk) -> awaitable<void> {
        const auto before = zk.session_id();
        auto held = co_await mutex(zk, "/shop/stock").acquire(5s);
        REQUIRE(held);
        zookeeper.expire(before);
        CHECK(co_await held.value().wait_lost());
        CHECK(held.value().loss()->reason == loss_reason::session_expired);
        CHECK(zookeeper.children("/shop/stock").empty());
        REQUIRE(co_await zk.wait_connected(10s));
        CHECK(zk.session_id() != before);
        CHECK(ended_with(co_await std::move(held.value()).release()) == errc::lost);
    });
}

TEST_CASE("a cut connection costs no lock")
{
    with_client([](ensemble& zookeeper, client zk) -> awaitable<void> {
        const auto session = zk.session_id();
        auto held = co_await mutex(zk, "/shop/stock").acquire(5s);
        REQUIRE(held);
        for (int i = 0; i < 3; ++i) {
            zookeeper.cut(session);
            while (!co_await zk.get("/shop/stock")) {
            } // refused while there is no connection
        }
        CHECK(held.value());
        CHECK(zk.session_id() == session);
    });
}

TEST_CASE("parted from the servers, the holder is told before they give the lock to anybody else")
{
    with_client([](ensemble& zookeeper, client zk) -> awaitable<void> {
        const auto session = zk.session_id();
        auto held = co_await mutex(zk, "/shop/stock").acquire(5s);
        REQUIRE(held);
        zookeeper.part(session);
        REQUIRE(co_await zookeeper.pass(9s));
        CHECK_FALSE(held.value());
        CHECK(held.value().loss()->reason == loss_reason::lease_ended);
        CHECK(zookeeper.children("/shop/stock").size() == 1);
        REQUIRE(co_await zookeeper.pass(2s));
        CHECK(zookeeper.children("/shop/stock").empty());
        CHECK(zk.state() != connection_state::connected);
        zookeeper.mend(session);
        REQUIRE(co_await zk.wait_connected(10s));
        CHECK(zk.session_id() != session);
    });
}

TEST_CASE("ten minutes pass, and a held lock stays; a timer on the lease clock fires when it is due")
{
    with_client([](ensemble& zookeeper, client zk) -> awaitable<void> {
        auto held = co_await mutex(zk, "/shop/stock").acquire(5s);
        REQUIRE(held);
        testing::timer due(co_await asio::this_coro::executor, 5min);
        std::optional<lease_clock::time_point> fired;
        const auto begun = lease_clock::now();
        due.async_wait([&](error_code) { fired = lease_clock::now(); });
        REQUIRE(co_await zookeeper.pass(10min));
        CHECK(lease_clock::now() - begun >= 10min);
        CHECK(held.value());
        REQUIRE(fired);
        CHECK(*fired - begun >= 5min);
        CHECK(*fired - begun < 5min + 2s);
        CHECK(zookeeper.sessions() == std::vector{zk.session_id()});
    });
}

TEST_CASE("a stall of an hour: the guard says at once that the lock is lost, and the session is another one")
{
    with_client([](ensemble& zookeeper, client zk) -> awaitable<void> {
        const auto before = zk.session_id();
        auto held = co_await mutex(zk, "/shop/stock").acquire(5s);
        REQUIRE(held);
        zookeeper.stall(1h);
        CHECK_FALSE(held.value());
        CHECK(zookeeper.children("/shop/stock").empty());
        CHECK(co_await held.value().wait_lost());
        REQUIRE(co_await zk.wait_connected(10s));
        CHECK(zk.session_id() != before);
    });
}

TEST_CASE("a stall that is shorter than the lease costs nothing")
{
    with_client([](ensemble& zookeeper, client zk) -> awaitable<void> {
        auto held = co_await mutex(zk, "/shop/stock").acquire(5s);
        REQUIRE(held);
        zookeeper.stall(2s);
        CHECK(held.value());
        REQUIRE(co_await zookeeper.pass(1min));
        CHECK(held.value());
    });
}

TEST_CASE("stopped servers: an acquire ends with not_connected; sessions outlive it")
{
    with_client([](ensemble& zookeeper, client zk) -> awaitable<void> {
        const auto session = zk.session_id();
        zookeeper.stop();
        mutex lock(zk, "/shop/stock");
        CHECK(co_await acquire_in_vain(zookeeper, lock) == errc::not_connected);
        const auto why = lock.last_timeout();
        REQUIRE(why);
        REQUIRE(why->addresses.size() == 1);
        CHECK(why->addresses.front().why.find("stopped") != std::string::npos);
        zookeeper.start();
        CHECK(co_await lock.acquire(5s));
        CHECK(zk.session_id() == session);
    });
}

TEST_CASE("servers that are back for less than a margin: connected, and no lock before the lease is renewed")
{
    with_client([](ensemble& zookeeper, client zk) -> awaitable<void> {
        const auto session = zk.session_id();
        zookeeper.stop();
        REQUIRE(co_await zookeeper.pass(20s));
        zookeeper.start();
        REQUIRE(co_await zk.wait_connected(10s));
        CHECK(zk.session_id() == session);
        mutex lock(zk, "/shop/stock");
        CHECK(co_await acquire_in_vain(zookeeper, lock, 500ms) == errc::not_connected);
        const auto why = lock.last_timeout();
        REQUIRE(why);
        CHECK_FALSE(why->not_connected_for);
        CHECK(why->addresses.empty());
        REQUIRE(why->without_lease_for);
        CHECK(*why->without_lease_for >= 500ms);
        CHECK(*why->without_lease_for < 2s);
        REQUIRE(co_await zookeeper.pass(3s));
        CHECK(co_await lock.acquire(5s));
    });
}

TEST_CASE("what becomes of single requests")
{
    using request = ensemble::request;
    using fate = ensemble::fate;
    with_client([](ensemble& zookeeper, client zk) -> awaitable<void> {
        const auto session = zk.session_id();
        zookeeper.next(request::create, "/a", fate::refuse_access);
        CHECK(ended_with(co_await zk.create("/a", "1")) == errc::access_denied);
        zookeeper.next(request::create, "/a", fate::refuse_server_error);
        CHECK(ended_with(co_await zk.create("/a", "1")) == errc::server_error);
        CHECK(co_await zk.create("/a", "1"));
        zookeeper.next(request::set, "/a", fate::lose_before);
        CHECK(ended_with(co_await zk.set("/a", "2")) == errc::outcome_unknown);
        CHECK(zookeeper.get("/a")->data == "1");
        REQUIRE(co_await zk.wait_connected(10s));
        zookeeper.next(request::set, "/a", fate::lose_after);
        CHECK(ended_with(co_await zk.set("/a", "3")) == errc::outcome_unknown);
        CHECK(zookeeper.get("/a")->data == "3");
        REQUIRE(co_await zk.wait_connected(10s));
        zookeeper.next(request::read, "/a", fate::no_answer);
        const auto gets = [&]() -> awaitable<result<node_content>> { co_return co_await zk.get("/a"); };
        auto got = asio::co_spawn(co_await asio::this_coro::executor, gets(), asio::use_future);
        REQUIRE(co_await zookeeper.pass(5s));
        CHECK(got.wait_for(0s) == std::future_status::timeout);
        REQUIRE(co_await zookeeper.pass(5s)); // the client gives the connection up, and asks over another
        REQUIRE(got.wait_for(0s) == std::future_status::ready);
        CHECK(got.get());
        zookeeper.delay(request::read, "/a", 50ms);
        const auto asked = lease_clock::now();
        CHECK(co_await zk.get("/a"));
        CHECK(lease_clock::now() - asked >= 50ms);
        zookeeper.clear();
        CHECK(zk.session_id() == session);
        CHECK(zookeeper.requests(request::set) == 2);
    });
}

TEST_CASE("a lost answer to the create of a lock's node: the lock is granted, with one node")
{
    with_client([](ensemble& zookeeper, client zk) -> awaitable<void> {
        REQUIRE(co_await mutex(zk, "/shop/stock").acquire(5s)); // its parents are there
        zookeeper.next(ensemble::request::any, "/shop/stock/", ensemble::fate::lose_after);
        auto held = co_await mutex(zk, "/shop/stock").acquire(5s);
        REQUIRE(held);
        CHECK(zookeeper.children("/shop/stock") ==
              std::vector{held.value().node().substr(std::string("/shop/stock/").size())});
    });
}

TEST_CASE("all recipes, below a chroot")
{
    ensemble zookeeper("one:2181,two:2181");
    zookeeper.create("/shop");
    const auto body = [&]() -> awaitable<void> {
        auto options = options_for(zookeeper);
        options.servers += "/shop";
        client zk(co_await asio::this_coro::executor, options);
        semaphore permits(zk, "/permits", 2);
        auto one = co_await permits.acquire(5s), two = co_await permits.acquire(5s);
        REQUIRE(one);
        REQUIRE(two);
        CHECK(ended_with(co_await permits.try_acquire()) == errc::busy);
        CHECK(zookeeper.children("/shop/permits").size() == 2);
        shared_mutex shared(zk, "/shared");
        auto reader = co_await shared.shared().acquire(5s);
        REQUIRE(reader);
        CHECK(ended_with(co_await shared.try_acquire()) == errc::busy);
        reentrant_mutex again(zk, "/again");
        lock_owner me;
        auto outer = co_await again.owned_by(me).acquire(), inner = co_await again.owned_by(me).acquire();
        REQUIRE(inner);
        multi_lock both(mutex(zk, "/x"), mutex(zk, "/y"));
        CHECK(co_await both.acquire(5s));
        election chief(zk, "/chief");
        const auto leads = [](leadership&) -> awaitable<result<int>> { co_return 7; };
        CHECK((co_await chief.lead(leads)).value() == 7);
        transaction write;
        write.create("/written", "by a transaction");
        CHECK(co_await outer.value().commit(write));
        CHECK(zookeeper.get("/shop/written")->data == "by a transaction");
        const auto numbered = co_await zk.create("/", "nameless", node_kind::persistent_sequential);
        REQUIRE(numbered);
        REQUIRE(zookeeper.get("/shop" + numbered.value()));
        CHECK(zookeeper.get("/shop" + numbered.value())->data == "nameless");
        CHECK(numbered.value().starts_with('/'));
        REQUIRE(co_await zk.close());
    };
    run_test(limit, body);
}

TEST_CASE("an event names whom an acquire waits behind, and costs no request")
{
    with_client([](ensemble& zookeeper, client zk) -> awaitable<void> {
        for (const std::string path : {"/a", "/b"})
            zookeeper.hold(path, "billing");
        std::vector<lock_event> heard;
        mutex_options options;
        options.listener = listen(co_await asio::this_coro::executor, [&](const lock_event& e) { heard.push_back(e); });
        std::vector<std::size_t> reads;
        for (auto lock : {mutex(zk, "/a"), mutex(zk, "/b", options)}) {
            const auto before = zookeeper.requests(ensemble::request::read);
            CHECK(co_await acquire_in_vain(zookeeper, lock) == errc::timed_out);
            reads.push_back(zookeeper.requests(ensemble::request::read) - before);
        }
        CHECK(reads.front() == reads.back());
        REQUIRE(heard.size() == 2);
        REQUIRE(heard.front().behind);
        CHECK(heard.front().behind->identifier == "billing");
        heard.clear();
        multi_lock both(mutex(zk, "/b", options), mutex(zk, "/c", options));
        CHECK(co_await acquire_in_vain(zookeeper, both) == errc::timed_out);
        REQUIRE_FALSE(heard.empty());
        REQUIRE(heard.front().behind);
        CHECK(heard.front().behind->node == "/b/" + zookeeper.children("/b").front());
    });
}

TEST_CASE("clients on many threads share a lock")
{
    ensemble zookeeper;
    asio::thread_pool pool(3);
    int counted = 0; // guarded by the lock
    const auto counts = [&](client zk) -> awaitable<void> {
        mutex lock(zk, "/count");
        for (int i = 0; i < 50; ++i) {
            const auto held = co_await lock.acquire(20s);
            if (held)
                ++counted;
        }
        static_cast<void>(co_await zk.close());
    };
    std::vector<std::future<void>> all;
    for (int i = 0; i < 4; ++i)
        all.push_back(asio::co_spawn(pool, counts(client(pool, options_for(zookeeper))), asio::use_future));
    for (auto& each : all)
        each.get();
    CHECK(counted == 200);
    CHECK(zookeeper.children("/count").empty());
}

TEST_CASE("sessions that will expire in memory keep no io_context at work")
{
    ensemble zookeeper;
    asio::io_context io;
    {
        client zk(io, options_for(zookeeper, milliseconds(60'000)));
        asio::co_spawn(
            io, [](client c) -> awaitable<void> { static_cast<void>(co_await c.wait_connected(10s)); }(zk),
            asio::detached);
        run_until(io, [&] { return zookeeper.sessions().size() == 1; });
    }
    const auto began = std::chrono::steady_clock::now();
    io.run();
    CHECK(std::chrono::steady_clock::now() - began < 5s);
    CHECK(zookeeper.sessions().empty());
}

TEST_CASE("a client outlives the ensemble, and an execution context its clients")
{
    auto zookeeper = std::make_unique<ensemble>();
    auto io = std::make_unique<asio::io_context>();
    client zk(*io, options_for(*zookeeper));
    run_until(*io, [&] { return zk.state() == connection_state::connected; });
    zookeeper.reset();
    run_until(*io, [&] { return zk.state() != connection_state::connected; });
    io.reset();
    CHECK(zk.state() == connection_state::closed);
}
