// time limit: 900 s
// sanitizers: address
// program: told
// What is not right: each a clear error, reported by the operation; nothing is sent that should not be, nothing lost.
#include "integration/refusal_scene.hpp"

#include <cmath>

using namespace zklock::test;

TEST_CASE("paths that are none")
{
    play<1>([&](remote_client& remote) -> awaitable<void> {
        remote.link.forget();
        std::vector<std::string> paths;
        for (const char* text : {"", "locks/x", "x", "/", "//", "/a//b", "//a", "/a/", "/a/b/", "/.", "/a/./b"})
            paths.emplace_back(text);
        for (const char* text : {"/a/../b", "/a/..", "/a\x01", "/a\nb", "/\x1f", "/\x7f", "/\xc2\x80", "/\xed\xa0\x80",
                                 "/\xff\xfe", "/a\xc3", "/\xc0\xaf"}) // forbidden to ZooKeeper, or no UTF-8
            paths.emplace_back(text);
        paths.push_back(std::string("/a\0b", 4));
        paths.push_back(std::string("\0", 1));
        paths.push_back("/" + std::string(100'000, 'a'));
        for (const std::string& path : paths) {
            CAPTURE(path);
            mutex lock(remote.zk, path);
            CHECK(lock.path() == path);
            co_await expect_refused(lock, errc::invalid_path);
        }
        CHECK(remote.link.count(opcode::any) == remote.link.count(opcode::sync)); // heartbeats
        CHECK(remote.zk.state() == connection_state::connected);

        co_await expect_usable(remote.zk, "/bad_input/Schl\xc3\xb6sser/\xe9\x8d\xb5/with space");
        co_await expect_usable(remote.zk, "/bad_input/.../..a/.b");
    });
}

TEST_CASE("options out of range")
{
    struct wrong {
        const char* name;
        void (*spoil)(client_options&);
    };
    const std::vector<wrong> all{
        {"no servers", [](client_options& o) { o.servers = ""; }},
        {"a comma too many", [](client_options& o) { o.servers += ","; }}, // bridge_host_list_test has more of these
        {"a chroot in both places", [](client_options& o) { o.servers += o.chroot = "/app"; }},
        {"a chroot for each server", [](client_options& o) { o.servers = "localhost:1/app,localhost:2/app"; }},
        {"a bad chroot behind the servers", [](client_options& o) { o.servers += "/app/"; }},
        {"a blank behind the chroot", [](client_options& o) { o.servers += "/app "; }},
        {"a chroot in the servers' own nodes", [](client_options& o) { o.chroot = "/zookeeper/app"; }},
        {"nothing but a chroot", [](client_options& o) { o.servers = "/app"; }},
        {"a relative chroot", [](client_options& o) { o.chroot = "app"; }},
        {"a chroot with a slash behind", [](client_options& o) { o.chroot = "/app/"; }},
        {"a chroot with two slashes", [](client_options& o) { o.chroot = "//app"; }},
        {"a chroot with a NUL", [](client_options& o) { o.chroot = std::string("/a\0b", 4); }},
        {"a chroot of dots", [](client_options& o) { o.chroot = "/a/.."; }},
        {"no session time-out", [](client_options& o) { o.session_timeout = 0ms; }},
        {"a negative session time-out", [](client_options& o) { o.session_timeout = -1ms; }},
        {"a session of months", [](client_options& o) { o.session_timeout = std::chrono::hours(24 * 60); }},
        {"the longest session", [](client_options& o) { o.session_timeout = milliseconds::max(); }},
        {"a drift of a half", [](client_options& o) { o.clock_drift = 0.5; }},
        {"a negative drift", [](client_options& o) { o.clock_drift = -0.01; }},
        {"a drift that is no number", [](client_options& o) { o.clock_drift = std::nan(""); }},
        {"a negative margin", [](client_options& o) { o.lease_margin = -1ms; }},
        {"a margin as long as the session", [](client_options& o) { o.lease_margin = o.session_timeout; }},
        {"a margin beside which no heartbeats fit",
         [](client_options& o) { o.lease_margin = o.session_timeout * 97 / 100; }},
        {"a margin beyond all", [](client_options& o) { o.lease_margin = milliseconds::max(); }},
        {"no tick", [](client_options& o) { o.server_tick = 0ms; }},
        {"a negative tick", [](client_options& o) { o.server_tick = -1ms; }},
        {"a tick beyond all", [](client_options& o) { o.server_tick = milliseconds::max(); }},
        {"a negative notice", [](client_options& o) { o.loss_notice = -1ms; }},
        {"a notice as long as the lease", [](client_options& o) { o.loss_notice = o.session_timeout * 3 / 4; }},
        {"a notice beyond all", [](client_options& o) { o.loss_notice = milliseconds::max(); }},
        {"no back-off", [](client_options& o) { o.connect_backoff = 0ms; }},
        {"a back-off over its limit", [](client_options& o) { o.connect_backoff = o.connect_backoff_limit + 1ms; }},
        {"no budget", [](client_options& o) { o.node_budget = 0; }},
        {"a budget over its limit", [](client_options& o) { o.node_budget_limit = o.node_budget - 1; }},
        {"a limit that harms", [](client_options& o) { o.node_budget_limit = 1024 * 1024 + 1; }},
        {"an identifier of two lines", [](client_options& o) { o.identifier = "a\nb"; }},
        {"an identifier too long", [](client_options& o) { o.identifier.assign(64 * 1024 + 1, 'x'); }},
        {"credentials of no scheme", [](client_options& o) { o.auth.resize(1); }},
        {"an unknown ACL", [](client_options& o) { o.access = static_cast<acl>(77); }},
    };
    play<1>({.clean = {"/bad_input/options"}}, [&](client& zk, const any_io_executor& executor) -> awaitable<void> {
        for (const auto& [name, spoil] : all) {
            CAPTURE(name);
            client_options spoilt = usual_options();
            spoil(spoilt);
            client unusable(executor, spoilt);
            CHECK(unusable.state() == connection_state::failed);
            CHECK(unusable.session_id() == 0);
            CHECK(error_in(co_await unusable.wait_connected(60s)) == errc::invalid_option);
            CHECK(error_in(co_await unusable.wait_connected(0s)) == errc::invalid_option);
            co_await expect_refused(mutex(unusable, "/bad_input/options"), errc::invalid_option);
            must(co_await unusable.close());
        }

        // Those of a mutex.
        mutex_options spoilt;
        spoilt.identifier.assign(64 * 1024 + 1, 'x');
        mutex too_long(zk, "/bad_input/options", spoilt);
        CHECK(error_in(co_await too_long.acquire()) == errc::invalid_option);
        CHECK(error_in(co_await too_long.try_acquire()) == errc::invalid_option);
        spoilt.identifier = "two\nlines";
        mutex two_lines(zk, "/bad_input/options", spoilt);
        CHECK(error_in(co_await two_lines.acquire()) == errc::invalid_option);
        spoilt.identifier.assign(64 * 1024, 'x');
        mutex longest(zk, "/bad_input/options", spoilt);
        guard held = must(co_await longest.acquire(60s));
        const auto listed = must(co_await longest.contenders());
        REQUIRE(listed.size() == 1);
        CHECK(listed[0].identifier == spoilt.identifier);
        co_await release(std::move(held));
    });
}

TEST_CASE("servers that cannot be reached, or are not there yet")
{
    const std::string path = "/bad_input/late";
    zookeeper_server late;
    const auto body = [&](const any_io_executor& executor) -> awaitable<void> {
        const port_lease nobody;
        const std::string dead = "127.0.0.1:" + std::to_string(nobody.port());
        for (const std::string& servers : {dead, std::string("host.invalid:2181"), dead + ",host.invalid"}) {
            CAPTURE(servers);
            client zk(executor, fault_options(servers, 10s));
            mutex lock(zk, path);
            CHECK(error_in(co_await lock.try_acquire()) == errc::not_connected);
            CHECK(error_in(co_await lock.acquire(0s)) == errc::not_connected);
            CHECK(error_in(co_await lock.acquire(200ms)) == errc::not_connected);
            CHECK(error_in(co_await zk.wait_connected(0s)) == errc::not_connected);
            CHECK(error_in(co_await zk.wait_connected(-5ms)) == errc::not_connected);
            CHECK(error_in(co_await zk.wait_connected(100ms)) == errc::not_connected);
            CHECK(zk.state() == connection_state::connecting);
            CHECK(zk.session_id() == 0);
            must(co_await zk.close());
        }

        // One that lives is found among them.
        for (const std::string& servers : {dead + "," + server().address(), server().address() + " , " + dead,
                                           "host.invalid:2181," + server().address()}) {
            CAPTURE(servers);
            client zk(executor, fault_options(servers, 10s));
            must(co_await zk.wait_connected(30s));
            co_await expect_usable(zk, path);
            must(co_await zk.close());
        }

        // Queued before the server is up.
        late.kill();
        client zk(executor, fault_options(late.address(), 10s));
        mutex lock(zk, path);
        auto first = begin_acquire(lock);
        auto second = begin_acquire(lock, 60s);
        CHECK(error_in(co_await lock.acquire(200ms)) == errc::not_connected);
        CHECK_FALSE(first.ended());
        late.start();
        guard held = co_await granted(first);
        CHECK(held);
        co_await release(std::move(held));
        co_await take_turn(second);
        co_await nothing_left(late.port());
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    expect_clean(late, {path});
    expect_clean(server(), {path});
}

TEST_CASE("a parent that is an ephemeral node")
{
    play<1>({.clean = {"/bad_input/outer"}}, [&](admin_client& admin, client& zk) -> awaitable<void> {
        admin.create_all("/bad_input");
        const std::string parent = admin.create("/bad_input/ephemeral", {}, create_mode::ephemeral);
        for (const std::string& path : {parent, parent + "/child", parent + "/child/deep"}) {
            CAPTURE(path);
            mutex lock(zk, path);
            CHECK(error_in(co_await lock.acquire(10s)) == errc::invalid_path);
            CHECK(error_in(co_await lock.try_acquire()) == errc::invalid_path);
            CHECK(must(co_await lock.contenders()).empty());
        }
        // A lock below a holder's node is one, too.
        mutex outer(zk, "/bad_input/outer");
        guard held = must(co_await outer.acquire(60s));
        mutex inner(zk, held.node());
        CHECK(error_in(co_await inner.acquire(10s)) == errc::invalid_path);
        CHECK(held);
        co_await release(std::move(held));
        admin.remove(parent);
    });
}

TEST_CASE("used after its close")
{
    play<1>({.clean = {"/bad_input/closed"}}, [&](client& zk) -> awaitable<void> {
        mutex lock(zk, "/bad_input/closed");
        guard held = must(co_await lock.acquire(60s));
        auto waiting = begin_acquire(lock);
        must(co_await zk.close());
        CHECK(zk.state() == connection_state::closed);
        CHECK(zk.session_id() == 0);
        CHECK(co_await waiting.end() == errc::closed);
        CHECK_FALSE(held);
        CHECK(error_in(co_await held.wait_lost()) == error_code());
        CHECK(error_in(co_await std::move(held).release()) == errc::lost);
        CHECK(error_in(co_await std::move(held).release()) == errc::not_owner);
        co_await expect_refused(lock, errc::closed);
        co_await expect_refused(mutex(zk, "no path"), errc::closed);
        CHECK(error_in(co_await zk.wait_connected(60s)) == errc::closed);
        must(co_await zk.close());
        must(co_await zk.close());
    });
}

TEST_CASE("node budget: past the limit an error, in between a queue in the client")
{
    const std::string path = "/bad_input/budget";
    play<0>({.clean = {path}}, [&]() -> awaitable<void> {
        client_options small = usual_options();
        const std::size_t node = path.size() + 1 + std::string_view("_c_-lock-").size() + 36 + 10 + 4;
        small.node_budget = 2 * node;
        small.node_budget_limit = 3 * node + node / 2;
        client zk(co_await asio::this_coro::executor, small);
        admin_client admin(server().port());
        mutex lock(zk, path);
        guard held = must(co_await lock.acquire(60s));
        auto second = co_await queued(admin, path, 2, begin_acquire(lock));
        auto third = begin_acquire(lock);
        CHECK(error_in(co_await lock.acquire(100ms)) == errc::timed_out);
        CHECK(admin.children(path).size() == 2);

        // Other paths get their first node up to the limit.
        guard elsewhere = must(co_await mutex(zk, "/bad_input/budget1").acquire(60s));
        CHECK(error_in(co_await mutex(zk, "/bad_input/budget2").acquire(10s)) == errc::over_budget);
        CHECK(error_in(co_await mutex(zk, "/bad_input/budget2").try_acquire()) == errc::over_budget);

        co_await release(elsewhere, held);
        held = co_await granted(second);
        co_await until_queued(admin, path, 2);
        CHECK_FALSE(third.ended());
        co_await release(std::move(held));
        co_await take_turn(third);
        co_await nothing_left(server().port());
        must(co_await zk.close());
    });
}
