#pragma once
// What the tests of TLS have in common: clients that trust the usual authority, proxies that see records, and looks at
// why a connection was refused.
#include "integration/kept_log.hpp"
#include "integration/lock_scene.hpp"
#include "support/certificate_authority.hpp"

namespace zklock::test {

/// The server of a file has a port for TLS as ZooKeeper has it by default, 1.2; or for 1.3.
inline server_starts_with secured(const char* file = __builtin_FILE())
{
    return server_starts_with([](server_options& options) { options.secure.emplace(); }, file);
}
inline server_starts_with secured_by_tls_1_3(const char* file = __builtin_FILE())
{
    return server_starts_with([](server_options& options) { options.secure.emplace().tls_1_3 = true; }, file);
}

[[nodiscard]] inline server_options with_secure_port()
{
    server_options options;
    options.secure.emplace();
    return options;
}

[[nodiscard]] inline tls_options trusting(const certificate_authority& authority = usual_authority())
{
    return with(&tls_options::enabled, true, &tls_options::ca_file, authority.file());
}

/// It shows that certificate, too.
[[nodiscard]] inline tls_options showing(const certified& own)
{
    tls_options tls = trusting();
    tls.certificate_file = own.certificate;
    tls.key_file = own.key;
    return tls;
}

[[nodiscard]] inline client_options secure_options(std::string servers, milliseconds session_timeout = long_session)
{
    client_options options = fault_options(std::move(servers), session_timeout);
    options.tls = trusting();
    return options;
}

/// A client of a port for TLS whose connection can be disturbed.
struct secure_client {
    secure_client(asio::any_io_executor executor, std::uint16_t secure_port,
                  milliseconds session_timeout = long_session)
        : link(secure_port, std::nullopt, speech::tls),
          zk(std::move(executor), secure_options(link.address(), session_timeout))
    {
    }

    proxy link;
    client zk;
};

/// Whom it serves well: it connects, and its locks work.
inline awaitable<void> expect_connected(client zk, std::string path = "/tls/usable")
{
    must(co_await zk.wait_connected(default_limit));
    mutex lock(zk, std::move(path));
    co_await take_turn(lock, default_limit);
}
inline awaitable<void> expect_connected(client_options options)
{
    client zk(co_await asio::this_coro::executor, std::move(options));
    co_await expect_connected(zk);
    must(co_await zk.close());
}

/// Cuts this client's connection, and waits until it has another one over the same link.
inline awaitable<void> reconnect(client zk, proxy& link)
{
    const auto before = link.accepted();
    link.cut();
    co_await until("it comes again", [&link, before] { return link.accepted() > before; });
    must(co_await zk.wait_connected(default_limit));
}

/// Visits the lock until what was to strike has struck, and once more.
inline awaitable<void> work_until_struck(client zk, const proxy& link, std::string path)
{
    mutex lock(zk, std::move(path));
    critical_section section;
    while (!link.struck())
        co_await visit(lock, section);
    co_await visit(lock, section);
}

/// Who waits for this client's connection is told that TLS failed, and the log says in these words why.
inline awaitable<void> expect_refused(client zk, kept_log log, std::string why)
{
    error_code ec;
    const auto end = steady_clock::now() + default_limit;
    do // at the deadline the first attempt may not have come to its end yet
        ec = error_in(co_await zk.wait_connected(300ms));
    while (ec == errc::not_connected && steady_clock::now() < end);
    CAPTURE(log.text());
    CAPTURE(why);
    CHECK(ec == errc::tls_failed);
    CHECK(log.has(why));
}
inline awaitable<void> expect_refused(client_options options, std::string why)
{
    const kept_log log;
    options.log = log;
    client zk(co_await asio::this_coro::executor, std::move(options));
    co_await expect_refused(zk, log, std::move(why));
    must(co_await zk.close());
}

inline void play_connected(const client_options& options)
{
    CAPTURE(options.servers);
    const auto body = [&] { return expect_connected(options); };
    run_test(test_limit, body);
}

inline void play_refused(const client_options& options, const std::string& why)
{
    CAPTURE(options.servers);
    CAPTURE(why);
    const auto body = [&] { return expect_refused(options, why); };
    run_test(test_limit, body);
}

} // namespace zklock::test
