// program: requests
// Waiting for nodes, on real servers: what ends a wait, what it costs, what it survives, and that users and locks share
// their watches.
#include "integration/requests_scene.hpp"

using namespace zklock::test;

namespace {

using stat_or_gone = std::optional<node_stat>;

// Not in a coroutine: see src/README.md on gcc 12.
constexpr bool both[] = {true, false};
constexpr asio::cancellation_type cancellations[] = {asio::cancellation_type::terminal,
                                                     asio::cancellation_type::partial, asio::cancellation_type::total};

pending<node_stat> begin_wait_created(client& zk, const std::string& path)
{
    pending<node_stat> p;
    zk.wait_created(path, p.handler());
    return p;
}
pending<> begin_wait_deleted(client& zk, const std::string& path)
{
    pending<> p;
    zk.wait_deleted(path, p.handler());
    return p;
}
pending<stat_or_gone> begin_wait_changed(client& zk, const std::string& path, const node_stat& seen)
{
    pending<stat_or_gone> p;
    zk.wait_changed(path, seen, p.handler());
    return p;
}
pending<stat_or_gone> begin_wait_children(client& zk, const std::string& path, const node_stat& seen)
{
    pending<stat_or_gone> p;
    zk.wait_children_changed(path, seen, p.handler());
    return p;
}

/// Until the server has so many watches.
awaitable<void> until_watched(std::size_t count)
{
    co_await until("so many watches are there", [count] { return watch_count(server().port()) == count; });
}

/// A new path of this program, beside those of locks.
std::string new_node()
{
    static int count = 0;
    return "/watched-" + std::to_string(count++);
}

} // namespace

TEST_CASE("create, set, fill, delete: each is told to who waits for it")
{
    play<1>([&](admin_client& admin, client& zk) -> awaitable<void> {
        const std::string path = new_node();
        auto created = begin_wait_created(zk, path);
        co_await until_watched(1);
        CHECK_FALSE(created.ended());
        admin.create(path);
        CHECK_FALSE(co_await created.end());
        CHECK(created.value().czxid == admin.exists(path)->czxid);
        const node_stat at_once = must(co_await zk.wait_created(path)); // it is there
        CHECK(at_once.czxid == created.value().czxid);

        auto changed = begin_wait_changed(zk, path, at_once);
        auto filled = begin_wait_children(zk, path, at_once);
        auto deleted = begin_wait_deleted(zk, path);
        co_await until_watched(2);
        admin.set(path, "x");
        CHECK_FALSE(co_await changed.end());
        REQUIRE(changed.value());
        CHECK(changed.value()->version == 1);
        CHECK_FALSE(filled.ended());
        admin.create(path + "/child");
        CHECK_FALSE(co_await filled.end());
        REQUIRE(filled.value());
        CHECK(filled.value()->num_children == 1);
        const stat_or_gone missed = must(co_await zk.wait_children_changed(path, at_once)); // it was not seen
        CHECK(missed->pzxid == filled.value()->pzxid);

        CHECK_FALSE(deleted.ended());
        auto last = begin_wait_children(zk, path, *filled.value());
        admin.remove_all(path);
        CHECK_FALSE(co_await deleted.end());
        CHECK_FALSE(co_await last.end());
        must(co_await zk.wait_deleted(path)); // it is gone
        must(co_await zk.wait_deleted(path, at_once));
        CHECK_FALSE(must(co_await zk.wait_changed(path, at_once)));
        CHECK_FALSE(must(co_await zk.wait_children_changed(path, at_once)));
        co_await until_watched(0);
    });
}

TEST_CASE("requests: one look to begin with, one when something has happened, none for a deletion")
{
    play<1>({.sessions = {120s}}, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        client& zk = remote.zk;
        const std::string path = new_node();
        co_await until_asked(remote.link, opcode::sync); // the heartbeat of the beginning
        CHECK_FALSE(must(co_await zk.exists(path)));     // is answered after it
        remote.link.forget();

        auto created = begin_wait_created(zk, path);
        co_await until_watched(1);
        auto another = begin_wait_created(zk, path); // shares the watch
        admin.create(path);
        CHECK_FALSE(co_await created.end());
        CHECK_FALSE(co_await another.end());
        expect_requests(remote.link, {{opcode::exists, 2}});

        auto changed = begin_wait_changed(zk, path, created.value());
        co_await until_watched(1);
        admin.set(path, "x");
        CHECK_FALSE(co_await changed.end());
        expect_requests(remote.link, {{opcode::exists, 2}});

        auto deleted = begin_wait_deleted(zk, path);
        co_await until_watched(1);
        admin.remove(path);
        CHECK_FALSE(co_await deleted.end());
        expect_requests(remote.link, {{opcode::exists, 1}});

        auto cancelled = begin_wait_created(zk, path);
        auto goes_on = begin_wait_created(zk, path);
        co_await until_watched(1);
        cancelled.cancel();
        CHECK(co_await cancelled.end() == asio::error::operation_aborted);
        expect_requests(remote.link, {{opcode::exists, 1}}); // the watch is the other's
        goes_on.cancel();
        CHECK(co_await goes_on.end() == asio::error::operation_aborted);
        co_await until_watched(0);
        expect_requests(remote.link, {{opcode::remove_watches, 1}});
    });
}

TEST_CASE("what happens while there is no connection is not missed; nor what becomes of the node with the session")
{
    play<1>([&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        client& zk = remote.zk;
        for (const bool expires : both) {
            CAPTURE(expires);
            const std::string path = new_node();
            const std::string own = must(co_await zk.create(path + "-own", "", node_kind::ephemeral));
            admin.create_all(path + "/replaced");
            const node_stat seen = *must(co_await zk.exists(path));
            const node_stat replaced_seen = *must(co_await zk.exists(path + "/replaced"));
            auto changed = begin_wait_changed(zk, path, seen);
            auto filled = begin_wait_children(zk, path, seen);
            auto replaced = begin_wait_changed(zk, path + "/replaced", replaced_seen);
            pending<> other;
            zk.wait_deleted(path + "/replaced", replaced_seen, other.handler());
            auto created = begin_wait_created(zk, path + "/new");
            auto ends = begin_wait_deleted(zk, own);
            co_await until_watched(5);
            co_await remote.cut_off();
            admin.set(path, "x");
            admin.remove(path + "/replaced");
            admin.create(path + "/replaced");
            admin.create(path + "/new");
            if (expires)
                remote.link.expire_session();
            remote.link.accept();
            CHECK_FALSE(co_await changed.end());
            CHECK(changed.value()->version == 1);
            CHECK_FALSE(co_await filled.end());
            CHECK_FALSE(co_await replaced.end());
            CHECK(replaced.value()->czxid > replaced_seen.czxid);
            CHECK_FALSE(co_await other.end());
            CHECK_FALSE(co_await created.end());
            if (!expires) {
                CHECK_FALSE(ends.ended());
                must(co_await zk.remove(own));
            }
            CHECK_FALSE(co_await ends.end());
            co_await until_watched(0);
            admin.remove_all(path);
        }
    });
}

TEST_CASE("ten thousand wait at one path, and ten thousand elsewhere; locks go on, and nothing is left of them")
{
    play<1>([&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        client& zk = remote.zk;
        constexpr std::size_t many = 10'000;
        const std::string path = new_node();
        std::deque<pending<node_stat>> here;
        std::deque<pending<node_stat>> elsewhere;
        for (std::size_t i = 0; i < many; ++i) {
            here.push_back(begin_wait_created(zk, path));
            elsewhere.push_back(begin_wait_created(zk, path + "-" + std::to_string(i)));
        }
        mutex lock(zk, new_path());
        co_await take_turn(lock); // not behind them
        co_await until(
            "all are watched", [] { return watch_count(server().port()) >= many + 1; }, 60s);
        remote.link.cut();              // and once more
        must(co_await zk.exists(path)); // behind all of them
        admin.create(path);
        for (auto& each : here)
            CHECK_FALSE(co_await each.end());
        for (auto& each : elsewhere)
            each.cancel();
        for (auto& each : elsewhere)
            CHECK(co_await each.end() == asio::error::operation_aborted);
        const auto nothing = [] {
            const auto all = watches(server().port());
            return std::none_of(all.begin(), all.end(), [](const auto& w) { return w.first.starts_with("/watched"); });
        };
        co_await until("no watch is left", nothing, 60s);
        admin.remove(path);
    });
}

TEST_CASE("every cancellation ends a wait at once, connected or not; a close ends all that are left")
{
    play<1>([&](remote_client& remote) -> awaitable<void> {
        client& zk = remote.zk;
        const std::string path = new_node();
        for (const bool connected : both) {
            CAPTURE(connected);
            if (!connected) {
                co_await remote.cut_off();
            }
            for (const auto how : cancellations) {
                auto w = begin_wait_created(zk, path);
                w.cancel(how);
                CHECK(co_await w.end() == asio::error::operation_aborted);
                CHECK(w.value().czxid == 0);
            }
        }
        auto left = begin_wait_created(zk, path);
        auto unknown = begin_wait_children(zk, path, node_stat());
        co_await remote.close();
        CHECK(co_await left.end() == errc::closed);
        CHECK(co_await unknown.end() == errc::closed);
        CHECK(error_in(co_await zk.wait_deleted(path)) == errc::closed);
    });
}

TEST_CASE("what a path is not, and what may not be read")
{
    play<1>([&](admin_client& admin, client& zk) -> awaitable<void> {
        CHECK(error_in(co_await zk.wait_created("no/path")) == errc::invalid_path);
        CHECK(error_in(co_await zk.wait_deleted("")) == errc::invalid_path);
        const auto [ec, now] = co_await zk.wait_changed("/a//b", node_stat(), asio::as_tuple(asio::use_awaitable));
        CHECK(ec == errc::invalid_path);
        CHECK_FALSE(now);
        const std::string path = new_node();
        const auto all_but_read = with(&access_rule::permissions, 30);
        admin.create(path, "", create_mode::persistent, std::vector<access_rule>(1, all_but_read));
        CHECK(error_in(co_await zk.wait_children_changed(path, node_stat())) == errc::access_denied);
        admin.remove(path);
    });
}

TEST_CASE("a wait neither keeps the client open nor outlives its context")
{
    pending<node_stat> forgotten;
    {
        asio::io_context context;
        {
            client zk(context, fault_options("127.0.0.1:1", long_session));
            zk.wait_created("/a", forgotten.handler());
        }
        context.run(); // the last handle is gone: it closes
        CHECK(forgotten.error() == errc::closed);
        client other(context, fault_options("127.0.0.1:1", long_session));
        pending<> dropped;
        other.wait_deleted("/a", dropped.handler());
        context.restart();
        context.poll();
        CHECK_FALSE(dropped.ended());
    }
}
