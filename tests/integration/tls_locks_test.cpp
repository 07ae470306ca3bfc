// program: public_headers
// Locks over TLS do what they do over the plain port: with TLS 1.2 and 1.3, a key that changes, IPv6, several threads.
#include "integration/tls_scene.hpp"
#include "support/skip.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

using namespace zklock::test;

namespace {

const auto locks_server = secured_by_tls_1_3();

/// Contenders of so many clients on one path; each has its turns, never two at once.
awaitable<void> contend(std::vector<client> clients, std::string path, int turns)
{
    critical_section section;
    std::vector<awaitable<void>> all;
    const auto visits = [&section, turns, path](client zk) -> awaitable<void> {
        mutex lock(zk, path);
        for (int i = 0; i < turns; ++i)
            co_await visit(lock, section);
    };
    for (const client& zk : clients)
        all.push_back(visits(zk));
    const auto expected = static_cast<int>(clients.size()) * turns;
    co_await together(std::move(all));
    CHECK(section.grants == expected);
}

awaitable<void> contend_at(std::string servers, std::size_t count)
{
    const auto executor = co_await asio::this_coro::executor;
    std::vector<client> clients;
    for (std::size_t i = 0; i < count; ++i)
        clients.emplace_back(executor, secure_options(servers));
    co_await contend(clients, "/tls/contended", 20);
    for (client& zk : clients)
        must(co_await zk.close());
}

} // namespace

TEST_CASE("clients with TLS and one without exclude each other on a path")
{
    play<0>({.clean = {"/tls/mixed"}}, [&](const any_io_executor& executor) -> awaitable<void> {
        std::vector<client> clients;
        clients.emplace_back(executor, usual_options());
        for (int i = 0; i < 3; ++i)
            clients.emplace_back(executor, secure_options(server().secure_address()));
        co_await contend(clients, "/tls/mixed", 20);
        for (client& zk : clients)
            must(co_await zk.close());
    });
}

TEST_CASE("a server that knows TLS 1.2 only, as ZooKeeper 3.8 does unless it is told otherwise")
{
    zookeeper_server old(with_secure_port());
    const auto body = [&] { return contend_at(old.secure_address(), 2); };
    run_test(test_limit, body);
    expect_clean(old, {"/tls/contended"});
}

TEST_CASE("nodes of a megabyte, there and back, and many small ones at once")
{
    play<0>([&]() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor, secure_options(server().secure_address()));
        must(co_await zk.wait_connected(default_limit));
        std::string large(1'000'000, 'x');
        for (std::size_t i = 0; i < large.size(); i += 97)
            large[i] = static_cast<char>('a' + i % 26);
        must(co_await zk.create("/large", large));
        const node_content read = must(co_await zk.get("/large"));
        CHECK(read.data == large);

        constexpr std::size_t many = 5'000;
        std::vector<pending<node_content>> answers(many);
        for (auto& each : answers)
            zk.get("/large-not", each.handler());
        for (auto& each : answers) {
            REQUIRE(co_await each.end() == errc::no_node);
        }
        must(co_await zk.remove("/large"));
        must(co_await zk.close());
    });
}

TEST_CASE("TLS 1.3: new keys every few kilobytes, and no request is lost")
{
    temporary_directory here;
    const auto policy = here.path() / "policy";
    std::ofstream(policy) << "jdk.tls.keyLimits=AES/GCM/NoPadding KeyUpdate 2^12\n";
    server_options options = with_secure_port();
    options.secure->tls_1_3 = true;
    options.java.push_back("-Djava.security.properties=" + policy.string());
    zookeeper_server renewing(options);
    const auto body = [&]() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor, secure_options(renewing.secure_address()));
        must(co_await zk.wait_connected(default_limit));
        const auto session = zk.session_id();
        must(co_await zk.create("/data", std::string(20'000, 'x')));
        for (int i = 0; i < 100; ++i) {
            const node_content read = must(co_await zk.get("/data"));
            REQUIRE(read.data.size() == 20'000);
            must(co_await zk.set("/data", std::string(20'000, 'y')));
        }
        CHECK(zk.session_id() == session);
        CHECK(zk.metrics().disconnects == 0);
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    expect_clean(renewing);
}

TEST_CASE("IPv6, by its address in the certificate")
{
    const unique_fd probe{::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in6 loopback{};
    loopback.sin6_family = AF_INET6;
    loopback.sin6_addr = in6addr_loopback;
    if (::bind(probe.get(), reinterpret_cast<const sockaddr*>(&loopback), sizeof loopback) != 0) {
        skip("this machine has no IPv6");
        return;
    }
    server_options options = with_secure_port();
    options.config.emplace_back("secureClientPortAddress=::1");
    zookeeper_server six(options);
    const auto body = [&] { return contend_at(six.secure_address("[::1]"), 2); };
    run_test(test_limit, body);
    expect_clean(six, {"/tls/contended"});
}

TEST_CASE("three servers: clients anywhere, and the leader killed under them")
{
    zookeeper_ensemble ensemble(3, with_secure_port());
    const auto body = [&](const any_io_executor& executor) -> awaitable<void> {
        std::deque<client> clients;
        for (int i = 0; i < 4; ++i)
            clients.emplace_back(executor, secure_options(ensemble.secure_address(), 40s));
        mutex first(clients[0], "/tls/three");
        guard held = must(co_await first.acquire(default_limit));
        std::vector<pending<guard>> waiting;
        for (client& zk : clients)
            waiting.push_back(begin_acquire(mutex(zk, "/tls/three")));
        std::vector<std::int64_t> sessions;
        for (client& zk : clients) {
            must(co_await zk.wait_connected(default_limit));
            sessions.push_back(zk.session_id());
        }
        const auto leader = ensemble.leader();
        ensemble[leader].kill();
        ensemble.wait_quorum();
        for (std::size_t i = 0; i < clients.size(); ++i) {
            must(co_await clients[i].wait_connected(default_limit));
            CHECK(clients[i].session_id() == sessions[i]);
        }
        CHECK(held);
        must(co_await std::move(held).release());
        std::int64_t token = 0;
        for (std::size_t left = waiting.size(); left > 0; --left) {
            std::size_t next = waiting.size();
            const auto some_has_it = [&] {
                for (next = 0; next < waiting.size(); ++next)
                    if (waiting[next].ended() && waiting[next].value())
                        return true;
                return false;
            };
            co_await until("the next has it", [&some_has_it] { return some_has_it(); });
            CHECK(waiting[next].value().fencing_token() > token);
            token = waiting[next].value().fencing_token();
            must(co_await std::move(waiting[next].value()).release());
        }
        for (client& zk : clients)
            must(co_await zk.close());
        ensemble[leader].start();
        ensemble.wait_all();
    };
    run_test(test_limit, body);
    expect_clean(ensemble, {"/tls/three"});
}

TEST_CASE("several threads run the clients")
{
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        critical_section section;
        constexpr int turns = 20;
        const auto visits = [&]() -> awaitable<void> {
            client zk(executor, secure_options(server().secure_address()));
            mutex lock(zk, "/tls/threads");
            for (int i = 0; i < turns; ++i)
                co_await visit(lock, section);
            must(co_await zk.close());
        };
        std::vector<awaitable<void>> all;
        for (int i = 0; i < 6; ++i)
            all.push_back(visits());
        co_await together(std::move(all));
        CHECK(section.grants == 6 * turns);
    };
    run_test_on_threads(4, test_limit, body);
    expect_clean(server(), {"/tls/threads"});
}
