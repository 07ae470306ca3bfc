// program: told
// What clients count of their locks and connections, and what their listener hears of connections.
#include "integration/recipe_scene.hpp"
#include "support/busy_threads.hpp"

#include <boost/asio/thread_pool.hpp>

#include <thread>

using namespace zklock::test;

namespace {

mutex_options named(std::string name)
{
    return with(&mutex_options::metrics_name, std::move(name));
}

/// The metrics of one name; all zero if there is none.
lock_metrics of(const client& zk, std::string_view name)
{
    for (const lock_metrics& l : zk.metrics().by_name)
        if (l.name == name)
            return l;
    return {};
}

/// Whatever has ended counts once, and what was acquired has waited, and is held, released or lost.
void check_sums(const lock_metrics& l)
{
    CHECK(l.waits.count() == l.acquired);
    CHECK(l.held + l.released + l.lost() == l.acquired);
    CHECK(l.holds.count() == l.released + l.lost());
}

} // namespace

TEST_CASE("each acquire counts as what its caller is told, under the name of its lock")
{
    play<2>([&](admin_client& admin, client& zk, client& other) -> awaitable<void> {
        const auto path = new_path();
        mutex lock(zk, path, named("stock"));
        {
            guard held = must(co_await lock.acquire());
            CHECK(of(zk, "stock").acquired == 1);
            CHECK(of(zk, "stock").held == 1);
            co_await release(std::move(held));
        }
        lock_metrics l = of(zk, "stock");
        CHECK(l.released == 1);
        CHECK(l.held == 0);
        check_sums(l);

        guard held = must(co_await mutex(other, path).acquire());
        CHECK(error_in(co_await lock.acquire(1s)) == errc::timed_out);
        CHECK(error_in(co_await lock.acquire(0ms)) == errc::timed_out); // it has found the lock busy
        CHECK(error_in(co_await lock.try_acquire()) == errc::busy);
        auto waits = co_await queued(admin, path, 2, begin_acquire(lock));
        CHECK(of(zk, "stock").waiting == 1);
        waits.cancel();
        CHECK(co_await waits.end() == asio::error::operation_aborted);
        mutex nowhere(zk, "no path", named("stock"));
        CHECK(error_in(co_await nowhere.acquire()) == errc::invalid_path);
        waits = co_await queued(admin, path, 2, begin_acquire(lock));
        co_await release(std::move(held));
        CHECK(!co_await waits.end());
        waits.value() = guard(); // given back in the background
        const client* const client_of_it = &zk;
        co_await until("it is released", [client_of_it] { return of(*client_of_it, "stock").released == 2; });
        l = of(zk, "stock");
        CHECK(l.acquired == 2);
        CHECK(l.timed_out == 2);
        CHECK(l.busy == 1);
        CHECK(l.cancelled == 1);
        CHECK(l.failed == 1);
        CHECK(l.waiting == 0);
        CHECK(l.held == 0);
        check_sums(l);
        CHECK(of(zk, "").acquired == 0);
        CHECK(of(other, "").acquired == 1);
        CHECK(other.metrics().all.acquired == 1);

        static_cast<void>(co_await mutex(other, path).acquire()); // without a name for the result
        co_await until_only_left(server().port(), std::vector<std::string>());
        CHECK(other.metrics().unseen == 1);
        const client* const client_of_other = &other;
        co_await until("it is counted", [client_of_other] { return client_of_other->metrics().all.released == 2; });
    });
}

TEST_CASE("whatever the recipe, an acquire counts once")
{
    play<1>([&](client& zk) -> awaitable<void> {
        const auto path = new_path();
        reentrant_mutex again(zk, path + "/again", named("again"));
        const lock_owner me;
        guard outer = must(co_await again.owned_by(me).acquire());
        guard inner = must(co_await again.owned_by(me).acquire());
        CHECK(of(zk, "again").held == 2);
        co_await release(outer, inner);
        CHECK(of(zk, "again").acquired == 2);
        check_sums(of(zk, "again"));

        const auto of_gate =
            with<semaphore_options>(&semaphore_options::permits, 5, &semaphore_options::metrics_name, "gate");
        semaphore gate(zk, path + "/gate", of_gate);
        permits four = must(co_await gate.permits_of(4).acquire());
        must(co_await four.release(1));
        CHECK(of(zk, "gate").held == 1);
        permits part = must(co_await four.split(1));
        CHECK(of(zk, "gate").held == 1);
        permits rest = must(co_await four.split(2)); // nothing is left
        CHECK(of(zk, "gate").acquired == 1);
        CHECK(of(zk, "gate").released == 1);
        must(co_await std::move(part).release());
        must(co_await std::move(rest).release());
        check_sums(of(zk, "gate"));

        shared_mutex book(zk, path + "/book", with(&shared_mutex_options::metrics_name, "book"));
        guard writer = must(co_await book.acquire());
        guard reader = must(co_await book.downgrade(std::move(writer))); // the same hold
        CHECK(of(zk, "book").held == 1);
        co_await release(std::move(reader));
        co_await take_turn(book.shared());
        CHECK(of(zk, "book").acquired == 2);
        check_sums(of(zk, "book"));

        multi_lock both(mutex(zk, path + "/a", named("pair")), mutex(zk, path + "/b", named("pair")));
        multi_guard pair = must(co_await both.acquire());
        must(co_await std::move(pair).release());
        CHECK(of(zk, "pair").acquired == 1);
        check_sums(of(zk, "pair"));
        multi_lock mixed(mutex(zk, path + "/a", named("pair")), mutex(zk, path + "/b"));
        co_await take_turn(mixed);
        CHECK(of(zk, "pair").acquired == 1);
        CHECK(of(zk, "").acquired == 1);

        election chair(zk, path + "/chair", with<election_options>(&election_options::metrics_name, "chair"));
        const auto nothing = [](leadership&) -> awaitable<void> { co_return; };
        must(co_await chair.lead(nothing));
        CHECK(of(zk, "chair").acquired == 1);
        check_sums(of(zk, "chair"));

        const metrics all = zk.metrics();
        CHECK(all.by_name.size() == 6);
        CHECK(all.all.acquired == 8);
        CHECK(all.all.released == 8);
        check_sums(all.all);
    });
}

TEST_CASE("losses count by reason; reconnects, disconnects and expiries")
{
    play<1>({.sessions = {4'000ms}}, [&](admin_client& admin, remote_client& a) -> awaitable<void> {
        const auto path = new_path();
        mutex lock(a.zk, path);
        const client& zk = a.zk;
        CHECK(zk.metrics().state == connection_state::connected);
        CHECK(zk.metrics().reconnects == 0);
        CHECK(zk.metrics().disconnects == 0);

        guard held = must(co_await lock.acquire());
        admin.remove(held.node());
        must(co_await held.wait_lost());
        CHECK(of(zk, "").lost(loss_reason::node_deleted) == 1);
        CHECK(of(zk, "").held == 0);
        CHECK(error_in(co_await std::move(held).release()) == errc::lost); // it is counted already
        CHECK(of(zk, "").released == 0);

        held = must(co_await lock.acquire()); // and the release is the first to find it out
        a.link.block(direction::replies);
        REQUIRE(admin.remove(held.node()));
        a.link.forget();
        auto releasing = begin_release(held);
        co_await until("the delete is on its way", [&] { return a.link.count(opcode::remove) == 1; });
        CHECK(of(zk, "").held == 1);
        a.link.unblock();
        CHECK(co_await releasing.end() == errc::lost);
        CHECK(of(zk, "").lost(loss_reason::node_deleted) == 2);
        CHECK(of(zk, "").released == 0);
        check_sums(of(zk, ""));

        held = must(co_await lock.acquire());
        a.link.expire_session();
        must(co_await held.wait_lost());
        co_await a.connect();
        CHECK(of(zk, "").lost(loss_reason::session_expired) == 1);
        metrics m = zk.metrics();
        CHECK(m.expiries == 1);
        CHECK(m.reconnects == m.disconnects);
        CHECK(m.reconnects >= 1);

        held = must(co_await lock.acquire());
        a.link.block(direction::replies);
        must(co_await held.wait_lost());
        CHECK(of(zk, "").lost(loss_reason::lease_ended) == 1);
        a.link.unblock();
        held = guard();
        co_await a.connect();

        const auto before = zk.metrics();
        a.link.cut();
        const client* const raw = &zk;
        const auto reconnects = before.reconnects;
        co_await until("it connects again", [raw, reconnects] { return raw->metrics().reconnects > reconnects; });
        CHECK(zk.metrics().disconnects > before.disconnects);
        CHECK(zk.metrics().heartbeats.count() > 0);
        CHECK(zk.metrics().heartbeat_delays.count() >= zk.metrics().heartbeats.count());

        held = must(co_await lock.acquire(60s));
        auto waits = co_await queued(admin, path, 2, begin_acquire(lock));
        const auto disconnects = zk.metrics().disconnects;
        co_await a.close();
        CHECK(co_await waits.end() == errc::closed);
        m = zk.metrics(); // they stay
        CHECK(m.state == connection_state::closed);
        CHECK(m.all.lost(loss_reason::client_closed) == 1);
        CHECK(m.all.lost() == 5);
        CHECK(m.all.acquired == 5);
        CHECK(m.all.failed == 1);
        CHECK(m.all.held == 0);
        CHECK(m.all.waiting == 0);
        CHECK(m.disconnects == disconnects);
        check_sums(m.all);
    });
}

TEST_CASE("requests are those that reach the servers; counting adds none")
{
    play<1>([&](remote_client& a) -> awaitable<void> {
        mutex lock(a.zk, new_path());
        for (int i = 0; i < 3; ++i) {
            co_await take_turn(lock);
        }
        must(co_await a.zk.exists("/zookeeper"));
        const remote_client* const raw = &a;
        co_await until("all have passed", [raw] { return raw->link.count(opcode::any) == raw->zk.metrics().requests; });
    });
}

TEST_CASE("a client tells so many names apart, and counts the rest together")
{
    play<1>([&](client& zk) -> awaitable<void> {
        const auto path = new_path();
        const auto failing = [&](std::string name) -> awaitable<void> {
            mutex nowhere(zk, "no path", named(std::move(name)));
            CHECK(error_in(co_await nowhere.acquire()) == errc::invalid_path);
        };
        for (std::size_t i = 0; i < most_metrics_names + 10; ++i)
            co_await failing(std::to_string(i));
        co_await failing("0");
        co_await failing("73");
        co_await failing(other_locks);
        const metrics m = zk.metrics();
        CHECK(m.by_name.size() == most_metrics_names + 2);
        CHECK(m.by_name.front().name.empty());
        CHECK(of(zk, "0").failed == 2);
        CHECK(of(zk, "63").failed == 1);
        CHECK(of(zk, "64").failed == 0);
        CHECK(of(zk, other_locks).failed == 12);
        CHECK(m.all.failed == most_metrics_names + 13);
    });
}

TEST_CASE("they are read by any thread, while the client works and when it is gone")
{
    const auto path = new_path();
    std::optional<client> kept;
    play<1>({.clean = {path}}, [&](client& zk) -> awaitable<void> {
        kept = zk;
        std::uint64_t last = 0;
        busy_threads reader(1, [&] {
            const metrics m = zk.metrics();
            CHECK(m.all.acquired >= last);
            last = m.all.acquired;
            static_cast<void>(prometheus_text(m));
        });
        mutex lock(zk, path, named("read"));
        for (std::size_t i = 0; i < scaled(200); ++i) {
            guard held = must(co_await lock.acquire());
            mutex(zk, path, named(std::to_string(i))); // and names are added
            co_await release(std::move(held));
        }
        reader.stop();
    });
    CHECK(of(*kept, "read").released == scaled(200)); // the context is gone
}

TEST_CASE("a listener of the connection hears each state, in order, on its own executor")
{
    asio::thread_pool pool(2);
    std::mutex guards;
    std::vector<connection_state> states;
    std::atomic<std::size_t> count{0};
    std::atomic<bool> on_the_client{false};
    const auto client_thread = std::this_thread::get_id();
    const auto told = [&](const connection_event& e) {
        const std::lock_guard lock(guards);
        states.push_back(e.state);
        if (std::this_thread::get_id() == client_thread)
            on_the_client = true;
        CHECK(e.at > lease_clock::time_point());
        CHECK(e.dropped == 0);
        CHECK((e.why == errc::invalid_option) == (e.state == connection_state::failed));
        const bool has_session = e.state == connection_state::connected || e.state == connection_state::suspended;
        CHECK((e.session_id != 0) == has_session);
        ++count;
    };
    const auto* const raw = &count;
    const auto body = [&]() -> awaitable<void> {
        proxy link(server().port());
        client_options options = fault_options(link.address(), long_session);
        options.listener = listen_to_connection(pool.get_executor(), told);
        client zk(co_await asio::this_coro::executor, options);
        must(co_await zk.wait_connected(60s));
        link.expire_session();
        co_await until("connected, suspended, connecting, connected", [raw] { return *raw >= 4; });
        must(co_await zk.wait_connected(60s));
        must(co_await zk.close());

        client_options wrong = options;
        wrong.servers.clear();
        client never(co_await asio::this_coro::executor, wrong);
        CHECK(error_in(co_await never.wait_connected(1s)) == errc::invalid_option);
    };
    run_test(test_limit, body);
    pool.join();
    using enum connection_state;
    const std::vector<connection_state> first{connected, suspended, connecting, connected};
    REQUIRE(states.size() >= 6);
    CHECK(std::equal(first.begin(), first.end(), states.begin()));
    CHECK(states[states.size() - 2] == closed);
    CHECK(states.back() == failed);
    CHECK_FALSE(on_the_client);
    expect_clean(server());
}

TEST_CASE("the events of an acquire say when: enough for the spans of a tracer")
{
    std::vector<lock_event> events;
    play<1>([&](client& zk, const any_io_executor& executor) -> awaitable<void> {
        const auto keep = [&](const lock_event& e) { events.push_back(e); };
        mutex lock(zk, new_path(), with(&mutex_options::listener, listen(executor, keep)));
        const auto before = lease_clock::now();
        guard held = must(co_await lock.acquire());
        const auto granted_by = lease_clock::now();
        co_await release(std::move(held));
        const auto* const raw = &events;
        co_await until("all is told", [raw] { return raw->size() == 3; });
        CHECK(events[0].began >= before);
        CHECK(events[0].at >= events[0].began);
        CHECK(events[1].at >= events[0].at);
        CHECK(events[1].at <= granted_by);
        CHECK(events[2].at >= granted_by);
        CHECK(events[2].at <= lease_clock::now());
        for (const lock_event& e : events)
            CHECK(e.began == events[0].began);
    });
}
