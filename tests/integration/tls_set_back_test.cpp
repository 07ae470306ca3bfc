// sanitizers: address
// program: tls
// A server over TLS that comes back without what its client has seen of it: the session is asked for over a handshake
// of its own. (set_back_test has the rest.)
#include "integration/tls_scene.hpp"

using namespace zklock::test;

TEST_CASE("over TLS, a server that was set back does not keep its client out")
{
    bool session_is_in_backup = false;
    SUBCASE("it has lost its data") {
    }
    SUBCASE("it is restored from a backup in which the session lives: it is told to end it") {
        session_is_in_backup = true;
    }
    zookeeper_server set_back(with_secure_port());
    const auto body = [&]() -> awaitable<void> {
        const kept_log log;
        // A server that is restored gives the session its time-out again, which shall outlast the client's patience.
        const milliseconds session_timeout = session_is_in_backup ? 12s : 6s;
        auto options = secure_options("127.0.0.1:" + std::to_string(set_back.secure_port()), session_timeout);
        options.log = log;
        client zk(co_await asio::this_coro::executor, options);
        must(co_await zk.wait_connected(default_limit));
        const std::int64_t session = zk.session_id();
        mutex lock(zk, "/tls/set_back");
        guard held = must(co_await lock.acquire(default_limit));
        if (session_is_in_backup)
            set_back.back_up();
        write_much(set_back);
        const auto seen = must(co_await zk.exists("/much99"));
        CHECK(seen); // so the client has seen more than the backup has
        set_back.kill();
        session_is_in_backup ? set_back.restore() : set_back.wipe();
        co_await until("that is noticed", [&] { return zk.state() == connection_state::suspended; });
        const auto almost_over = steady_clock::now() + session_timeout;
        if (session_is_in_backup)
            co_await until("the session should almost be over", [&] { return steady_clock::now() > almost_over; });
        set_back.start();
        co_await until("there is a new session", [&] { return zk.session_id() != 0 && zk.session_id() != session; });
        CHECK(zk.metrics().expiries == 1);
        CHECK_FALSE(held);
        CHECK(log.has("is told to end it") == session_is_in_backup);
        co_await take_turn(lock, default_limit);
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    expect_clean(set_back, {"/tls/set_back"});
}
