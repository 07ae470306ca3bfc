// program: tls
// Sessions over TLS outlive their connections, whatever step of the handshake or of the work a connection is cut at;
// and they end when their client does.
#include "integration/tls_scene.hpp"

using namespace zklock::test;

namespace {

const auto sessions_server = secured_by_tls_1_3();

} // namespace

TEST_CASE("cut at every record of the handshake and of what follows: the next attempt comes about")
{
    std::optional<zookeeper_server> wary; // which speaks 1.2, and wants to know who comes
    tls_options tls = trusting();
    SUBCASE("of TLS 1.3") {
    }
    SUBCASE("of TLS 1.2, with a client's certificate") {
        server_options options = with_secure_port();
        options.secure->client_auth = "need";
        wary.emplace(options);
        tls = showing(usual_authority().certify());
    }
    zookeeper_server& visited = wary ? *wary : server();
    const auto body = [&](const any_io_executor& executor) -> awaitable<void> {
        constexpr std::size_t records = 12;
        for (const auto at : {moment::request, moment::reply, moment::delivered})
            for (std::size_t record = 0; record < records; ++record) {
                const int which = static_cast<int>(at);
                CAPTURE(which);
                CAPTURE(record);
                proxy link(visited.secure_port(), std::nullopt, speech::tls);
                link.on_next(opcode::tls_record, at, fate::cut, record);
                client_options options = secure_options(link.address());
                options.tls = tls;
                client zk(executor, options);
                co_await work_until_struck(zk, link, "/tls/cut");
                CHECK(link.accepted() >= 2);
                CHECK(zk.metrics().expiries == 0);
                must(co_await zk.close());
            }
    };
    run_test(test_limit, body);
    expect_clean(visited, {"/tls/cut"});
}

TEST_CASE("cut at random points of a crowd's work: one session, and no turn is lost")
{
    play<0>({.clean = {"/tls/random"}}, [&]() -> awaitable<void> {
        secure_client remote(co_await asio::this_coro::executor, server().secure_port());
        must(co_await remote.zk.wait_connected(default_limit));
        const auto session = remote.zk.session_id();
        std::uint32_t random = 4711;
        for (int round = 0; round < 30; ++round) {
            random = random * 1664525 + 1013904223;
            const auto at = random >> 31 ? moment::request : moment::reply;
            remote.link.on_next(opcode::tls_record, at, fate::cut, (random >> 16) % 20);
            co_await work_until_struck(remote.zk, remote.link, "/tls/random");
        }
        CHECK(remote.zk.session_id() == session);
        CHECK(remote.link.accepted() >= 30);
        must(co_await remote.zk.close());
    });
}

TEST_CASE("a server that stops in the middle of the handshake: another is tried, and it when it goes on")
{
    play<0>({.clean = {"/tls/usable"}}, [&](const any_io_executor& executor) -> awaitable<void> {
        for (std::size_t record = 0; record < 3; ++record) {
            CAPTURE(record);
            proxy stuck(server().secure_port(), std::nullopt, speech::tls);
            proxy good(server().secure_port(), std::nullopt, speech::tls);
            for (int i = 0; i < 100; ++i) // all of its connections
                stuck.on_next(opcode::tls_record, moment::reply, fate::hold, record);
            client_options options = secure_options(stuck.address() + ',' + good.address(), 6s);
            client zk(executor, options);
            co_await expect_connected(zk);
            must(co_await zk.close());
        }
    });
}

TEST_CASE("a holder and its waiter keep their session over a cut and over a restart of the server")
{
    zookeeper_server restarted(with_secure_port());
    const auto body = [&](const any_io_executor& executor) -> awaitable<void> {
        secure_client a(executor, restarted.secure_port(), 60s), b(executor, restarted.secure_port(), 60s);
        mutex first(a.zk, "/tls/restarted"), second(b.zk, "/tls/restarted");
        guard held = must(co_await first.acquire(default_limit));
        auto waits = begin_acquire(second);
        must(co_await b.zk.wait_connected(default_limit));
        const auto session_of_a = a.zk.session_id(), session_of_b = b.zk.session_id();
        for (const bool restart : {false, true}) {
            CAPTURE(restart);
            if (restart) {
                restarted.restart();
            } else {
                a.link.cut();
                b.link.cut();
            }
            const std::size_t connections = restart ? 3 : 2;
            const auto are_back = [&] { return a.link.accepted() >= connections && b.link.accepted() >= connections; };
            co_await until("both have come again", are_back);
            must(co_await a.zk.wait_connected(default_limit));
            must(co_await b.zk.wait_connected(default_limit));
            CHECK(held);
            CHECK_FALSE(waits.ended());
        }
        CHECK(a.zk.session_id() == session_of_a);
        CHECK(b.zk.session_id() == session_of_b);
        must(co_await std::move(held).release());
        co_await take_turn(waits);
        must(co_await a.zk.close());
        must(co_await b.zk.close());
    };
    run_test(test_limit, body);
    expect_clean(restarted, {"/tls/restarted"});
}

namespace {

/// Destroys a client that holds a lock and has so many requests under way, and tells whether its session ends at once.
bool ends_at_once(bool tls, int under_way)
{
    constexpr auto timeout = 30s;
    {
        asio::io_context io;
        const client_options options =
            tls ? secure_options(server().secure_address(), timeout) : fault_options(server().address(), timeout);
        std::optional<client> zk(std::in_place, io, options);
        std::optional<mutex> lock(std::in_place, *zk, "/tls/destroyed");
        auto held = begin_acquire(*lock);
        while (!held.ended())
            io.run_one_for(100ms);
        REQUIRE_FALSE(held.error());
        if (under_way != 0) {
            lock->acquire([](error_code, guard) {});
            io.poll();
        }
        for (int i = 1; i < under_way; ++i)
            zk->set("/tls", "x", [](error_code, const node_stat&) {});
        io.poll_one(); // has it send them, with answers due
    }
    const auto is_gone = [] { return ephemeral_count(server().port()) == 0; };
    try {
        wait_until("the session has ended", timeout / 2, is_gone);
        return true;
    } catch (const std::exception&) {
        wait_until("the session has ended by its time-out", 4 * timeout, is_gone);
        return false;
    }
}

} // namespace

TEST_CASE("a client that is destroyed without a close ends its session at once, as over the plain port")
{
    for (const bool tls : {false, true}) {
        CAPTURE(tls);
        CHECK(ends_at_once(tls, 0));
        // A server that cannot give an answer to a client hangs up, and what it has not read by then is lost: so this
        // does not come off each time.
        for (const int under_way : {2, 400}) { // at last more than a pair of sockets holds
            CAPTURE(under_way);
            bool ended = false;
            for (int attempt = 0; attempt < 5 && !ended; ++attempt)
                ended = ends_at_once(tls, under_way);
            CHECK(ended);
        }
    }
    expect_clean(server(), {"/tls/destroyed"});
}

TEST_CASE("a session that the servers end is lost over TLS, too, and the next one begins")
{
    play<0>({.clean = {"/tls/expired"}}, [&](const any_io_executor& executor) -> awaitable<void> {
        secure_client remote(executor, server().secure_port(), 4s);
        mutex lock(remote.zk, "/tls/expired");
        guard held = must(co_await lock.acquire(default_limit));
        const auto session = remote.zk.session_id();
        remote.link.block();
        must(co_await held.wait_lost());
        CHECK_FALSE(held);
        co_await until("the servers have ended it", [] { return ephemeral_count(server().port()) == 0; });
        remote.link.unblock();
        must(co_await remote.zk.wait_connected(default_limit));
        CHECK(remote.zk.session_id() != session);
        co_await expect_connected(remote.zk, "/tls/expired");
        must(co_await remote.zk.close());
    });
}
