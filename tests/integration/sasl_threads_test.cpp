// sanitizers: thread
// program: kerberos
// Clients on several threads, whose connections are cut: each exchange goes on where its client's strand runs, and
// tickets are got on threads of their own.
#include "integration/sasl_scene.hpp"

using namespace zklock::test;

namespace {

const auto server_of_threads = knowing_by_kerberos();

/// Four clients take turns, and each loses its connection while it holds the lock.
void take_turns_on_threads(zookeeper_server& visited, const client_options& options, const std::string& path)
{
    const auto take_turns = [&](asio::any_io_executor executor) -> awaitable<void> {
        proxy link(visited.port());
        client_options own = options;
        own.servers = at_localhost(link.port());
        client zk(executor, own);
        mutex lock(zk, path);
        for (int round = 0; round < 5; ++round) {
            guard held = must(co_await lock.acquire(default_limit));
            co_await reconnect(zk, link);
            must(co_await std::move(held).release());
        }
        CHECK(zk.metrics().expiries == 0);
        must(co_await zk.close());
    };
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        std::vector<awaitable<void>> parts;
        for (int i = 0; i < 4; ++i)
            parts.push_back(take_turns(executor));
        co_await together(std::move(parts), test_limit);
    };
    run_test_on_threads(4, test_limit, body);
    expect_clean(visited, {path});
}

} // namespace

TEST_CASE("DIGEST-MD5: clients on several threads, with connections that are cut")
{
    const sasl_servers known(std::map<std::string, std::string>{{"bob", "bobsecret"}});
    zookeeper_server one(known.options());
    take_turns_on_threads(one, as_user("bob", "bobsecret", one.address()), "/sasl/threads");
}

TEST_SUITE_BEGIN("kerberos" * needs_kdc());

TEST_CASE("Kerberos: clients on several threads, with connections that are cut")
{
    take_turns_on_threads(server(), by_keytab(usual_realm().keytab("alice")), "/kerberos/threads");
}

TEST_SUITE_END();
