#pragma once
// What the tests of SASL have in common: clients of either mechanism, and servers that make them identify themselves.
#include "integration/bridge_client.hpp"
#include "integration/tls_scene.hpp"
#include "support/sasl_servers.hpp"
#include "support/skip.hpp"

namespace zklock::test {

/// For files that need a KDC: `TEST_SUITE_BEGIN("kerberos" * needs_kdc())`.
[[nodiscard]] inline doctest::skip needs_kdc()
{
    return skipped_if(!kerberos_realm::installed(), "no KDC is installed");
}

/// The realm of a program's tests. It starts when it is first asked for: do that on the main thread.
inline kerberos_realm& usual_realm()
{
    static kerberos_realm one;
    return one;
}

/// A file's server identifies its clients by DIGEST-MD5, or by Kerberos. It has a port for TLS, too, where it asks for
/// certificates, and goes on without.
inline server_starts_with knowing(const std::map<std::string, std::string>& users, const char* file = __builtin_FILE())
{
    return server_starts_with(
        [&](server_options& options) {
            static std::map<std::string, sasl_servers> all;
            all.try_emplace(file, users).first->second.add_to(options);
            options.secure.emplace().client_auth = "want";
        },
        file);
}
inline server_starts_with knowing_by_kerberos(const char* file = __builtin_FILE())
{
    return server_starts_with(
        [](server_options& options) {
            if (!kerberos_realm::installed())
                return;
            static const sasl_servers servers(usual_realm());
            servers.add_to(options);
            options.secure.emplace().client_auth = "want";
        },
        file);
}

/// The server's name as Kerberos knows it, instead of its address.
[[nodiscard]] inline std::string at_localhost(std::uint16_t port)
{
    return "localhost:" + std::to_string(port);
}

/// A bridge_client keeps what it logs by itself.
[[nodiscard]] inline client_options sasl_scene_options(std::string servers)
{
    client_options options = fault_options(std::move(servers), long_session);
    options.log = nullptr;
    return options;
}

[[nodiscard]] inline client_options as_user(const std::string& user, const std::string& password,
                                            std::string servers = server().address())
{
    client_options options = sasl_scene_options(std::move(servers));
    options.sasl.mechanism = sasl_mechanism::digest_md5;
    options.sasl.user = user;
    options.sasl.password = password;
    return options;
}

[[nodiscard]] inline client_options by_kerberos(std::string servers = at_localhost(server().port()))
{
    client_options options = sasl_scene_options(std::move(servers));
    options.sasl.mechanism = sasl_mechanism::gssapi;
    return options;
}
[[nodiscard]] inline client_options by_keytab(const std::string& keytab,
                                              std::string servers = at_localhost(server().port()))
{
    client_options options = by_kerberos(std::move(servers));
    options.sasl.keytab = keytab;
    return options;
}
[[nodiscard]] inline client_options by_tickets(const std::string& cache,
                                               std::string servers = at_localhost(server().port()))
{
    client_options options = by_kerberos(std::move(servers));
    options.sasl.credential_cache = cache;
    return options;
}

/// It gets no connection, and the log has these words.
inline void expect_no_identity(const client_options& options, const std::string& words)
{
    bridge_client c(options);
    CAPTURE(words);
    c.run_until([&] { return c.said(words) != 0; });
    CHECK(c.connections == 0);
    c.close();
}

/// The access list of a node that only its creator may touch.
[[nodiscard]] inline std::string identity_of(const client_options& options, const std::string& path)
{
    connected_bridge_client c(options);
    const access_list own = acl::creator_all;
    CHECK(c.create(path, node_kind::ephemeral, "x", &own).result == outcome::ok);
    auto list = c.get_acl(path).list;
    c.close();
    return list;
}

/// The exchange is cut at every frame of it, on its way to the server and back: each time a later attempt comes about.
inline void cut_each_step(client_options options, std::size_t steps, const std::string& path)
{
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        for (const auto at : {moment::request, moment::reply, moment::delivered})
            for (std::size_t step = 0; step < steps; ++step) {
                const int which = static_cast<int>(at);
                CAPTURE(which);
                CAPTURE(step);
                proxy link(server().port());
                link.on_next(opcode::sasl, at, fate::cut, step);
                options.servers = at_localhost(link.port());
                client zk(executor, options);
                co_await work_until_struck(zk, link, path);
                CHECK(link.accepted() >= 2);
                CHECK(link.sessions().size() <= 2); // where the first was not known here yet, another is made
                CHECK(zk.metrics().expiries == 0);
                must(co_await zk.close());
            }
    };
    run_test(test_limit, body);
    expect_clean(server(), {path});
}

/// A server that takes nobody without an identity: a lock is held there before and after the connection is cut.
inline void visit_strict(zookeeper_server& strict, client_options options, const std::string& path)
{
    const auto body = [&]() -> awaitable<void> {
        proxy link(strict.port());
        options.servers = at_localhost(link.port());
        client zk(co_await asio::this_coro::executor, options);
        mutex lock(zk, path);
        critical_section section;
        co_await visit(lock, section);
        co_await reconnect(zk, link);
        co_await visit(lock, section);
        CHECK(zk.metrics().expiries == 0);
        must(co_await zk.close());
        CHECK(link.sessions().size() == 1);
    };
    run_test(test_limit, body);
}

/// The leader of three servers is lost: the session, whose identity each of them takes, goes on with another.
inline void lose_leader_of_three(const sasl_servers& known, client_options options, const std::string& path)
{
    zookeeper_ensemble servers(3, known.options());
    options.servers.clear();
    for (std::size_t i = 0; i < servers.size(); ++i)
        options.servers += (i != 0 ? "," : "") + at_localhost(servers[i].port());
    const auto body = [&]() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor, options);
        mutex lock(zk, path);
        guard held = must(co_await lock.acquire(default_limit));
        const auto session = zk.session_id();
        servers[servers.leader()].kill();
        must(co_await std::move(held).release());
        co_await take_turn(lock, default_limit);
        CHECK(zk.session_id() == session);
        CHECK(zk.metrics().expiries == 0);
        must(co_await zk.close());
    };
    run_test(test_limit, body);
}

} // namespace zklock::test
