// sanitizers: none
// program: tls
// Keys that are encrypted: whoever does not say the password is refused, and is asked nothing, least of all on a
// terminal.
#include "integration/tls_scene.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>

using namespace zklock::test;

namespace {

const server_starts_with needing_certificates([](server_options& options) {
    options.secure.emplace().client_auth = "need";
});

constexpr const char* password = "a secret of ours";

certified locked()
{
    return usual_authority().certify(with(&certificate_wish::key_password, password));
}

/// Runs it in a process of its own with a terminal of its own: its exit status, and in `shown` what is written to that
/// terminal.
int on_terminal(const std::function<int()>& life, std::string& shown)
{
    int terminal = -1;
    const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    REQUIRE(child != -1);
    if (child == 0) {
        ::alarm(120);
        ::_exit(life());
    }
    const unique_fd owner(terminal);
    char buffer[4096];
    for (;;) { // until nobody has it open any more
        const auto got = ::read(owner.get(), buffer, sizeof buffer);
        if (got > 0)
            shown.append(buffer, static_cast<std::size_t>(got));
        else if (got == 0 || errno != EINTR)
            break;
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// What comes of a client with that key: the value of an errc, or 0 when it has connected.
int attempted(const client_options& options)
{
    asio::io_context io;
    client zk(io, options);
    error_code result = errc::not_connected;
    const auto end = steady_clock::now() + default_limit;
    while (result == errc::not_connected && steady_clock::now() < end) {
        bool ended = false;
        zk.wait_connected(500ms, [&](error_code ec) {
            result = ec;
            ended = true;
        });
        while (!ended)
            io.run_one_for(100ms);
    }
    zk.close([](error_code) {});
    io.run_for(default_limit);
    return result.value();
}

} // namespace

TEST_CASE("an encrypted key with its password, without it, and with a wrong one")
{
    const auto own = locked();
    client_options options = secure_options(server().secure_address());
    options.tls = showing(own);
    const auto refused = [&](const std::string& why) {
        const auto body = [&]() -> awaitable<void> {
            const kept_log log;
            options.log = log;
            client zk(co_await asio::this_coro::executor, options);
            co_await expect_refused(zk, log, why);
            CHECK_FALSE(log.has(password));
            CHECK_FALSE(log.has("a wrong one"));
            must(co_await zk.close());
        };
        run_test(test_limit, body);
    };
    refused(own.key);
    options.tls.key_password = "a wrong one";
    refused(own.key);
    options.tls.key_password = password;
    const auto body = [&] { return expect_connected(options); };
    run_test(test_limit, body);
    expect_clean(server(), {"/tls/usable"});
}

TEST_CASE("on a terminal nobody is asked for the password")
{
    const auto own = locked();
    client_options options = secure_options(server().secure_address());
    options.tls = showing(own);
    options.log = [](log_level, std::string_view) {};
    std::string shown;
    CHECK(on_terminal([&] { return attempted(options); }, shown) == make_error_code(errc::tls_failed).value());
    CHECK(shown == "");
    options.tls.key_password = password;
    CHECK(on_terminal([&] { return attempted(options); }, shown) == 0);
    CHECK(shown == "");
}
