// sanitizers: address
// program: tls
// With whom no connection comes about, and what is told of it: strangers, other names, the past, a port without TLS,
// servers that want to know who comes.
#include "integration/tls_scene.hpp"

using namespace zklock::test;

namespace {

const auto refused_server = secured();

server_options with_certificate(const certificate_wish& wish)
{
    server_options options = with_secure_port();
    options.secure->key_store = usual_authority().certify(wish).store;
    return options;
}

server_options with_client_certificates(bool tls_1_3)
{
    server_options options = with_secure_port();
    options.secure->client_auth = "need";
    options.secure->tls_1_3 = tls_1_3;
    return options;
}

} // namespace

TEST_CASE("a server of an authority that is not trusted")
{
    const certificate_authority other("another");
    client_options options = secure_options(server().secure_address());
    options.tls = trusting(other);
    play_refused(options, "unable to get local issuer certificate");
    options.tls.ca_file.clear(); // the system's do not know it either
    play_refused(options, "unable to get local issuer certificate");
}

TEST_CASE("a certificate for other names, and one that has expired")
{
    zookeeper_server elsewhere(
        with_certificate(with(&certificate_wish::names, {"DNS:elsewhere.test", "IP:192.0.2.1"})));
    play_refused(secure_options(elsewhere.secure_address()), "IP address mismatch");
    play_refused(secure_options(elsewhere.secure_address("localhost")), "hostname mismatch");

    zookeeper_server late(with_certificate(with(&certificate_wish::expired, true)));
    play_refused(secure_options(late.secure_address()), "certificate has expired");
}

TEST_CASE("a port without TLS, and TLS spoken by nobody who is asked for it")
{
    play_refused(secure_options(server().address()), "does its port speak TLS?");
    const kept_log log;
    const auto body = [&]() -> awaitable<void> { // a client without TLS at a port for it
        client_options options = fault_options(server().secure_address(), long_session);
        options.log = log;
        client zk(co_await asio::this_coro::executor, options);
        CHECK(error_in(co_await zk.wait_connected(2s)) == errc::not_connected);
        co_await until("it is told what it lacks", [&log] { return log.has("client_options::tls is off"); });
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    INFO(log.text());
    CHECK(log.has(server().secure_address()));
}

TEST_CASE("a server that needs a certificate: with one, without one, with that of a stranger")
{
    const auto own = usual_authority().certify();
    certificate_authority other("another");
    const auto strange = other.certify();
    for (const bool tls_1_3 : {false, true}) {
        CAPTURE(tls_1_3);
        zookeeper_server needs(with_client_certificates(tls_1_3));
        client_options options = secure_options(needs.secure_address());
        // Under 1.3 it comes when the client has shaken hands already.
        play_refused(options, "(the client has no certificate to show)");
        options.tls = showing(strange);
        play_refused(options, "alert");
        options.tls = showing(own);
        play_connected(options);
    }
}

TEST_CASE("of several servers some refuse, and the one that does not is found")
{
    zookeeper_server elsewhere(with_certificate(with(&certificate_wish::names, {"DNS:elsewhere.test"})));
    port_lease nobody;
    const std::string servers = elsewhere.secure_address() + ',' + server().address() +
                                ",127.0.0.1:" + std::to_string(nobody.port()) + ',' + server().secure_address();
    for (int i = 0; i < 5; ++i) // the order is left to chance
        play_connected(secure_options(servers));
    expect_clean(server(), {"/tls/usable"});
}

TEST_CASE("an acquire that waits for a server that refuses tells why")
{
    const auto body = [&]() -> awaitable<void> {
        client_options options = secure_options(server().address());
        client zk(co_await asio::this_coro::executor, options);
        mutex lock(zk, "/tls/refused");
        error_code ec;
        const auto end = steady_clock::now() + default_limit;
        do
            ec = error_in(co_await lock.acquire(300ms));
        while (ec == errc::not_connected && steady_clock::now() < end);
        CHECK(ec == errc::tls_failed);
        CHECK(error_in(co_await lock.try_acquire()) == errc::tls_failed);
        const std::optional<wait_report> told = lock.last_timeout();
        REQUIRE(told);
        REQUIRE(told->addresses.size() == 1);
        CHECK(told->addresses[0].address == server().address());
        CHECK(told->addresses[0].why.find("TLS") != std::string::npos);
        CHECK(told->not_connected_for);
        must(co_await zk.close());
    };
    run_test(test_limit, body);
}

TEST_CASE("refused at a reconnect: the session is kept, and goes on when the server's certificate is right again")
{
    const auto right = usual_authority().certify();
    const auto wrong = usual_authority().certify(with(&certificate_wish::expired, true));
    temporary_directory here;
    const auto store = here.path() / "store.pem";
    const auto use = [&](const certified& which) {
        std::filesystem::copy_file(which.store, store, std::filesystem::copy_options::overwrite_existing);
    };
    use(right);
    server_options options = with_secure_port();
    options.secure->key_store = store;
    zookeeper_server changing(options);
    const auto body = [&]() -> awaitable<void> {
        const kept_log log;
        client_options own = secure_options(changing.secure_address(), 60s);
        own.log = log;
        client zk(co_await asio::this_coro::executor, own);
        mutex lock(zk, "/tls/kept");
        guard held = must(co_await lock.acquire(default_limit));
        const auto session = zk.session_id();
        use(wrong);
        changing.restart();
        co_await until("it is refused", [&log] { return log.has("certificate has expired"); });
        use(right);
        changing.restart();
        must(co_await zk.wait_connected(default_limit));
        CHECK(zk.session_id() == session);
        CHECK(held);
        must(co_await std::move(held).release());
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    expect_clean(changing, {"/tls/kept"});
}
