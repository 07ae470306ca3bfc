// program: told
// What a client writes to its log, where something happens on real servers: each thing once, at its level.
#include "integration/fork_scene.hpp"
#include "integration/kept_log.hpp"
#include "integration/recipe_scene.hpp"

#include <boost/asio/use_future.hpp>

#include <future>
#include <thread>

using namespace zklock::test;

namespace {

/// The hexadecimal numbers in the log other than these.
std::string hexadecimals(const kept_log& log, const std::vector<std::string>& but)
{
    const std::string text = log.text();
    std::string others;
    for (auto at = text.find("0x"); at != text.npos; at = text.find("0x", at + 2)) {
        const auto number = text.substr(at, text.find_first_not_of("0123456789abcdef", at + 2) - at);
        if (std::ranges::find(but, number) == but.end())
            others += number + ' ';
    }
    return others;
}

std::string hex(std::int64_t session)
{
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(session));
    return text;
}

client_options logging(std::string servers, const kept_log& log, milliseconds session = long_session)
{
    client_options o = fault_options(std::move(servers), session);
    o.identifier = "night-shift";
    o.log = log;
    return o;
}

std::optional<loss_reason> lost_by(const guard& held)
{
    const auto how = held.loss();
    return how ? std::optional(how->reason) : std::nullopt;
}

awaitable<void> connected(client& zk)
{
    must(co_await zk.wait_connected(default_limit));
}

} // namespace

TEST_CASE("connections and sessions are told as they come and go, and none of it is an error")
{
    const kept_log log;
    play<0>([&]() -> awaitable<void> {
        proxy link(server().port());
        client zk(co_await asio::this_coro::executor, logging(link.address(), log));
        co_await connected(zk);
        const std::string first = hex(zk.session_id());
        CHECK(log.count(log_level::info, "night-shift " + first + ": connected to " + link.address() +
                                             ": new session " + first + ", time-out 30.000 s") == 1);

        link.cut();
        co_await until("it is connected again", [&] { return log.count(log_level::info, " goes on, time-out ") == 1; });
        CHECK(log.count(log_level::info, "the connection to " + link.address() + " has ended after ") == 1);

        link.expire_session(zk.session_id());
        co_await until("there is another session", [&] { return log.count(log_level::info, ": new session ") == 2; });
        CHECK(log.count(log_level::warning, "session " + first + " has expired") == 1);
        const std::string second = hex(zk.session_id());
        must(co_await zk.close());
        CHECK(log.count(log_level::info, ": closed") == 1);
        CHECK(log.count(log_level::error) == 0);
        CHECK(log.count(log_level::warning) == 1);
        CHECK(log.count(log_level::debug, "the C client says: ") > 0);
        CHECK(hexadecimals(log, {first, second}) == "");
        for (const auto pointer : {"watcher=", "context="})
            CHECK(log.count(log_level::debug, pointer) == 0);
        for (const auto level : {log_level::error, log_level::warning, log_level::info})
            CHECK(log.count(level, "the C client says: ") == 0);
    });
}

TEST_CASE("a client whose executor nobody runs says what it waits for, and no more")
{
    const kept_log log;
    asio::io_context io;
    client zk(io, logging("127.0.0.1:1", log));
    mutex lock(zk, "/log/stands_still");
    auto held = lock.acquire(1ms, asio::use_future);
    CHECK(held.wait_for(0ms) == std::future_status::timeout);
    CHECK(log.text() == "info night-shift: made for 127.0.0.1:1: it connects as soon as a thread runs its executor\n");
}

TEST_CASE("a time-out that is shorter than was asked for")
{
    zookeeper_server other(with(&server_options::max_session_timeout, 4000ms));
    const kept_log log;
    const auto body = [&]() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor, logging(other.address(), log));
        co_await connected(zk);
        CHECK(log.count(log_level::warning, "keep a session for 4.000 s only, and not for 30.000 s") == 1);
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    expect_clean(other);
}

TEST_CASE("an ensemble that cannot be reached is one error, however often it is tried; its end is told")
{
    zookeeper_server other;
    const kept_log log;
    const auto body = [&]() -> awaitable<void> {
        proxy link(other.port());
        other.kill(); // the proxy accepts, and hangs up
        client zk(co_await asio::this_coro::executor, logging(link.address(), log, 2000ms));
        co_await until("it is told", [&] { return log.count(log_level::error) != 0; });
        co_await until("it goes on", [&, tried = link.accepted()] { return link.accepted() > tried + 40; });
        CHECK(log.count(log_level::error, "no session with any server of " + link.address() + ", for ") == 1);
        CHECK(log.count(log_level::info, link.address()) >= 1);
        CHECK(log.count(log_level::info, link.address()) < 20);
        CHECK(log.count(log_level::warning) == 0);
        other.start();
        co_await until("it is reached", [&] { return zk.state() == connection_state::connected; });
        CHECK(log.count(log_level::warning, "there is a session with a server again, after ") == 1);
        CHECK(log.count(log_level::error) == 1);
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    expect_clean(other);
}

TEST_CASE("credentials that are refused, and a chroot that is missing, are errors")
{
    const kept_log log;
    play<0>([&]() -> awaitable<void> {
        client_options unknown = logging(server().address(), log);
        unknown.auth.push_back({"no_such_scheme", "the secret"});
        client refused(co_await asio::this_coro::executor, unknown);
        CHECK(error_in(co_await refused.wait_connected(60s)) == errc::authentication_failed);
        CHECK(log.count(log_level::error, server().address() + " refuses the credentials") == 1);
        CHECK(log.text().find("the secret") == std::string::npos);
        must(co_await refused.close());

        client_options nowhere = logging(server().address(), log);
        nowhere.chroot = "/no/such/chroot";
        client rootless(co_await asio::this_coro::executor, nowhere);
        CHECK(error_in(co_await rootless.wait_connected(60s)) == errc::no_such_chroot);
        CHECK(error_in(co_await rootless.wait_connected(60s)) == errc::no_such_chroot);
        CHECK(log.count(log_level::error, "there is no node /no/such/chroot") == 1);
        CHECK(log.count(log_level::error) == 2);
        must(co_await rootless.close());
    });
}

TEST_CASE("locks that are held when the execution context is destroyed: which, with what nodes and tokens")
{
    const kept_log log;
    guard held, given_back;
    multi_guard both;
    permits some;
    std::optional<client> zk;
    {
        asio::io_context io;
        zk.emplace(io, logging(server().address(), log));
        mutex(*zk, "/log/left").acquire([&](auto, guard g) { held = std::move(g); });
        multi_lock(mutex(*zk, "/log/left-1"), mutex(*zk, "/log/left-2")).acquire([&](auto, multi_guard g) {
            both = std::move(g);
        });
        const semaphore gate(*zk, "/log/left-permits", 3);
        gate.permits_of(2).acquire([&](auto, permits p) { some = std::move(p); });
        mutex(*zk, "/log/given-back").acquire([&](auto, guard g) { given_back = std::move(g); });
        run_until(io, [&] { return held && both && some && given_back; });
        bool released = false;
        std::move(given_back).release([&](auto) { released = true; });
        run_until(io, [&] { return released; });
        CHECK(log.count(log_level::warning) == 0);
    }
    const auto name_of = [](const std::string& node) { return node.substr(node.rfind('/') + 1); };
    const auto left = [&](std::string path, std::string node, std::int64_t token) {
        return log.count(log_level::warning, "left " + path + " held (node " + node + ", token " +
                                                 std::to_string(token) + "): the execution context was destroyed");
    };
    CHECK(left("/log/left", name_of(held.node()), held.fencing_token()) == 1);
    CHECK(left("/log/left-permits", name_of(some.node()), some.fencing_token()) == 1);
    CHECK(log.count(log_level::warning, "left /log/left-1 held (node _c_") == 1);
    CHECK(log.count(log_level::warning, "left /log/left-2 held (node _c_") == 1);
    CHECK(log.count(log_level::warning) == 4);
    CHECK(log.count(log_level::error) == 0);
    CHECK(lost_by(held) == loss_reason::client_closed);
    held = guard();
    both = multi_guard();
    some = permits();
    zk.reset();
    CHECK(log.count(log_level::warning) == 4);
    expect_clean(server(), {}, 60s);
}

TEST_CASE("a client that is closed, or copied by a fork, leaves nothing to be told of when its context is destroyed")
{
    const kept_log log;
    guard held;
    asio::io_context io;
    client zk(io, logging(server().address(), log));
    mutex(zk, "/log/copied").acquire([&](auto, guard g) { held = std::move(g); });
    run_until(io, [&] { return static_cast<bool>(held); });
    for (const bool notified : {true, false}) {
        CAPTURE(notified);
        const int told = in_child([&] {
            if (notified)
                io.notify_fork(asio::io_context::fork_child);
            io.~io_context();
            return static_cast<int>(log.count(log_level::warning));
        });
        CHECK(told == 0);
    }
    bool closed = false;
    zk.close([&](auto) { closed = true; });
    run_until(io, [&] { return closed; });
    CHECK(log.count(log_level::warning, "left ") == 0);
    CHECK(log.count(log_level::warning, "lost /log/copied") == 1);
    expect_clean(server());
}

TEST_CASE("a waiter's node that others delete; a revocation that is asked for and answered; a try in vain")
{
    const kept_log log, of_waiter, of_asker;
    play<0>([&](const any_io_executor& executor) -> awaitable<void> {
        const std::string path = "/log/asked";
        const std::uint16_t port = server().port();
        admin_client admin(port);
        client zk(executor, logging(server().address(), log));
        client waiter(executor, logging(server().address(), of_waiter));
        client asker(executor, logging(server().address(), of_asker));
        guard held = must(co_await mutex(zk, path).acquire());
        auto asked = begin_wait_revoked(held);

        auto second = co_await queued(admin, path, 2, begin_acquire(mutex(waiter, path)));
        const std::string node = path + "/" + queue_of(admin, path)[1];
        co_await until_watched(waiter, node);
        REQUIRE(admin.remove(node));
        co_await until("it is told", [&] { return of_waiter.count(log_level::warning) != 0; });
        co_await until_queued(admin, path, 2);
        CHECK(of_waiter.count(log_level::warning, "somebody else has deleted the node of a waiter for " + path) == 1);

        co_await connected(asker);
        CHECK(error_in(co_await mutex(asker, path).try_acquire()) == errc::busy);
        CHECK(of_asker.count(log_level::debug, "no lock on " + path + ": busy") == 1);
        mutex asked_for(asker, path);
        must(co_await asked_for.revoke_holders());
        CHECK(of_asker.count(log_level::info, "has asked the holder of this node to let go: " + path) == 1);
        CHECK(!co_await asked.end());
        CHECK(log.count(log_level::info, "is asked to let go of " + path) == 1);
        co_await release(held);
        CHECK(log.count(log_level::info, "lets go of " + path + ", as it was asked to") == 1);
        CHECK(log.count(log_level::warning) == 0);
        CHECK(of_asker.count(log_level::warning) == 0);
        co_await take_turn(second);
        for (client* one : {&zk, &waiter, &asker})
            must(co_await one->close());
    });
}

TEST_CASE("an executor that somebody blocks is told, with how late a turn was")
{
    const kept_log log;
    play<0>([&]() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor, logging(server().address(), log, 2000ms));
        co_await connected(zk);
        must(co_await zk.get("/"));          // so the first heartbeat has been answered
        std::this_thread::sleep_for(1500ms); // what is tested: two heartbeats are due meanwhile
        co_await until("it is told", [&] { return log.has(kept_log::slow_turn); });
        must(co_await zk.close());
    });
}

TEST_CASE("a log function that throws breaks nothing")
{
    play<0>([&]() -> awaitable<void> {
        client_options options = fault_options(server().address(), long_session);
        int lines = 0;
        options.log = [&lines](log_level, std::string_view) {
            ++lines;
            throw std::runtime_error("the disk is full");
        };
        client zk(co_await asio::this_coro::executor, options);
        guard held = must(co_await mutex(zk, "/log/throws").acquire());
        must(co_await zk.close()); // the guard outlives it
        CHECK(lines > 2);
    });
}

TEST_CASE("the environment has a client write to stderr that has no log of its own")
{
    std::FILE* const file = std::tmpfile();
    REQUIRE(file != nullptr);
    const int before = ::dup(2);
    ::setenv("ZKLOCK_LOG", "info", 1);
    ::dup2(::fileno(file), 2);
    const auto body = [&]() -> awaitable<void> {
        client_options options = fault_options(server().address(), long_session);
        options.log = nullptr;
        options.identifier = "by-environment";
        client zk(co_await asio::this_coro::executor, options);
        co_await connected(zk);
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    ::unsetenv("ZKLOCK_LOG");
    ::dup2(before, 2);
    ::close(before);
    std::string text;
    std::rewind(file);
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file))
        text += static_cast<char>(c);
    std::fclose(file);
    CAPTURE(text);
    CHECK(text.find("Z info by-environment 0x") != text.npos);
    CHECK(text.find(": connected to " + server().address() + ": new session 0x") != text.npos);
    expect_clean(server());
}
