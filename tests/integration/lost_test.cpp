// program: faults
// Being told that the lock is lost: when, how often, and before anybody else can have it.
#include "integration/recipe_scene.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>

using namespace zklock::test;

namespace {

const server_starts_with short_ticks([](server_options& options) {
    options.tick_time = 200ms;
    options.min_session_timeout = 400ms;
});

milliseconds between(steady_clock::time_point from, steady_clock::time_point to)
{
    return std::chrono::duration_cast<milliseconds>(to - from);
}

} // namespace

TEST_CASE("wait_lost: silent at a release, at a cancellation, and for a guard that goes away; latched after a loss")
{
    play<1>([&](remote_client& a) -> awaitable<void> {
        const auto path = new_path();
        mutex lock(a.zk, path);
        co_await waits_end(lock, begin_wait_lost<guard>);

        guard held;
        CHECK_FALSE(held.loss());
        held = must(co_await lock.acquire());
        CHECK_FALSE(held.loss());
        auto lost = begin_wait_lost(held);
        a.link.expire_session();
        CHECK(!co_await lost.end());
        for (int i = 0; i < 2; ++i) { // it has happened already: told again, to each who asks
            auto late = begin_wait_lost(held);
            CHECK_FALSE(late.ended());
            CHECK(!co_await late.end());
        }
        CHECK_FALSE(held);
        CHECK(held.loss().value().reason == loss_reason::session_expired);
        CHECK(held.held_until() == lease_clock::time_point{});
        CHECK(error_in(co_await std::move(held).release()) == errc::lost);
        CHECK(error_in(co_await held.wait_lost()) == errc::not_owner);
    });
}

TEST_CASE("a holder that is cut off is told before the server gives the lock to the next")
{
    const std::uint16_t port = server().port();
    static constexpr auto session = 4000ms;
    milliseconds least{1'000'000}, most{0};
    play_timed<1>(
        session / 16, {}, [&](timed_scene& noted, admin_client& admin, remote_client& next) -> awaitable<void> {
            const auto executor = co_await asio::this_coro::executor;
            // All at once: each with a lock of its own, cut off at another moment of its life.
            struct holder {
                holder(asio::any_io_executor executor, std::uint16_t port) : client(executor, port, session) {}
                remote_client client;
                std::string path = new_path();
                guard held;
                pending<guard> waiting;
                pending<> lost;
                std::int64_t token = 0;
                steady_clock::time_point cut_at;
            };
            std::deque<holder> holders;
            constexpr int count = 6;
            for (int i = 0; i < count; ++i) {
                auto& h = holders.emplace_back(executor, port);
                co_await h.client.connect();
                h.held = must(co_await mutex(h.client.zk, h.path).acquire());
                h.token = h.held.fencing_token();
                h.lost = begin_wait_lost(h.held);
                h.waiting = co_await queued(admin, h.path, 2, begin_acquire(mutex(next.zk, h.path)));
            }
            asio::steady_timer timer(executor);
            for (std::size_t i = 0; i < holders.size(); ++i) {
                auto& h = holders[i];
                // The phase of its heartbeats is what matters: some are cut right after one, some right before the
                // next.
                const auto syncs = h.client.link.count(opcode::sync);
                co_await until("a heartbeat", [&] { return h.client.link.count(opcode::sync) > syncs; });
                const auto heartbeat = steady_clock::now();
                const auto phase = session / 4 * static_cast<int>(i) / count;
                co_await until("the phase", [&] { return steady_clock::now() >= heartbeat + phase; });
                premise(static_cast<bool>(h.held), "held until it is cut off");
                h.client.link.block();
                h.cut_at = steady_clock::now();
            }
            for (auto& h : holders) {
                CAPTURE(h.path);
                CHECK(!co_await h.lost.end());
                REQUIRE(!co_await h.waiting.end());
                noted.expect(h.lost.ended_at() < h.waiting.ended_at(), "told before the next has it: " + h.path);
                CHECK_FALSE(h.held);
                CHECK(h.waiting.value().fencing_token() > h.token);
                noted.expect(between(h.cut_at, h.lost.ended_at()) <= session,
                             "told within the session's time: " + h.path);
                const auto margin = between(h.lost.ended_at(), h.waiting.ended_at());
                least = std::min(least, margin);
                most = std::max(most, margin);
                h.client.link.unblock();
            }
            for (auto& h : holders) {
                CHECK(error_in(co_await std::move(h.held).release()) == errc::lost);
                co_await take_turn(h.waiting);
            }
            co_await nothing_left(port);
            for (auto& h : holders)
                co_await h.client.close();
        });
    MESSAGE("told ", least.count(), " to ", most.count(), " ms before the next had it; sessions of ", session.count());
}

TEST_CASE("the guard itself turns false on time, also while its executor is busy, and stays so")
{
    static constexpr auto session = 2000ms;
    play_timed<1>(session / 8, {.sessions = {session}}, [&](timed_scene& noted, remote_client& a) -> awaitable<void> {
        const auto path = new_path();
        guard held = must(co_await mutex(a.zk, path).acquire());
        auto lost = begin_wait_lost(held);
        a.link.block(direction::replies);
        // Nothing of the client runs meanwhile.
        const auto cut_at = steady_clock::now();
        wait_until("the guard turns false", default_limit, [&] { return !held; });
        noted.expect(between(cut_at, steady_clock::now()) < session, "false before the session can be over");
        CHECK_FALSE(lost.ended());
        const lock_loss by_the_clock = held.loss().value();
        CHECK(by_the_clock.reason == loss_reason::lease_ended);
        CHECK(by_the_clock.unheard >= session / 4); // a margin and a heartbeat are taken from the lease
        CHECK(by_the_clock.held >= session / 4);
        a.link.unblock();
        CHECK(!co_await lost.end());
        CHECK_FALSE(held);
        const lock_loss noticed = held.loss().value();
        CHECK(noticed.reason == loss_reason::lease_ended);
        CHECK(noticed.unheard >= by_the_clock.unheard);
        CHECK(error_in(co_await std::move(held).release()) == errc::lost);
    });
}

TEST_CASE("a process that slept through the end of its lease is told, "
          "though an answer renews the lease before its timer fires")
{
    const std::uint16_t port = server().port();
    const auto story = [&](timed_scene&, const any_io_executor& executor) -> awaitable<void> {
        for (const bool releases : {false, true}) {
            CAPTURE(releases);
            remote_client a(executor, port, 3000ms);
            co_await a.connect();
            guard held = must(co_await mutex(a.zk, new_path()).acquire());
            auto lost = begin_wait_lost(held);
            const auto begun = held.held_until();
            co_await until("the heartbeats count", [&] { return held.held_until() > begun || lost.ended(); });
            premise(static_cast<bool>(held), "held until the heartbeats count");
            a.link.block(direction::replies);
            const auto syncs = a.link.count(opcode::sync);
            co_await until("a heartbeat", [&] { return a.link.count(opcode::sync) > syncs; });
            premise(static_cast<bool>(held), "held until the answer can come");
            a.link.unblock();
            while (held) {
            } // the executor does nothing else; the answer waits in the socket
            if (releases)
                CHECK(error_in(co_await std::move(held).release()) == errc::lost);
            CHECK(!co_await lost.end());
            co_await nothing_left(port);
            co_await a.close();
        }
    };
    play_timed<0>(500ms, {}, story);
}

TEST_CASE("`work || wait_lost()` over a stall: work that was due first wins, and the guard knows better")
{
    const std::uint16_t port = server().port();
    play<0>([&](const any_io_executor& executor) -> awaitable<void> {
        remote_client a(executor, port, 2000ms);
        co_await a.connect();
        guard held = must(co_await mutex(a.zk, new_path()).acquire());
        a.link.block(direction::replies);
        asio::post(executor, [&] {
            while (held) {
            } // as a handler does that computes for too long
        });
        asio::steady_timer work(executor, 10ms);
        using namespace asio::experimental::awaitable_operators;
        const auto ended = co_await (work.async_wait(asio::use_awaitable) || held.wait_lost(asio::use_awaitable));
        CHECK(ended.index() == 0);
        CHECK_FALSE(held);
        CHECK(held.loss().value().reason == loss_reason::lease_ended);
        a.link.unblock();
        CHECK(error_in(co_await std::move(held).release()) == errc::lost);
        co_await nothing_left(port);
        co_await a.close();
    });
}

TEST_CASE("whatever the recipe, a guard says how it was lost")
{
    const std::string sides = new_path(), gate = new_path(), chair = new_path();
    play<1>({.clean = {sides, chair}}, [&](admin_client& admin, remote_client& a) -> awaitable<void> {
        shared_mutex book(a.zk, sides);
        guard reader = must(co_await book.shared().acquire());
        permits some = must(co_await semaphore(a.zk, gate, 3).permits_of(3).acquire());
        permits part = must(co_await some.split(1));
        const lock_owner me;
        reentrant_mutex again(a.zk, new_path());
        guard outer = must(co_await again.owned_by(me).acquire());
        guard inner = must(co_await again.owned_by(me).acquire());
        mutex first(a.zk, new_path()), second(a.zk, new_path());
        multi_guard both = must(co_await multi_lock(first, second).acquire());
        const auto told = [](const auto& held) {
            const auto how = held.loss();
            return !held && how ? std::optional(how->reason) : std::nullopt;
        };
        CHECK(told(both) == std::nullopt);
        REQUIRE(admin.remove(both.locks().back().node));
        must(co_await both.wait_lost());
        CHECK(told(both) == loss_reason::node_deleted);

        std::optional<loss_reason> of_the_leader;
        election who(a.zk, chair);
        const auto lead = [&](leadership& now) -> awaitable<void> {
            for (const guard* held : {&reader, &outer, &inner})
                CHECK(told(*held) == std::nullopt);
            CHECK(told(some) == std::nullopt);
            a.link.expire_session();
            must(co_await now.wait_lost());
            of_the_leader = told(now);
        };
        const result<void> led = co_await who.lead(lead);
        CHECK(error_in(led) == errc::lost);
        CHECK(of_the_leader == loss_reason::session_expired);
        must(co_await reader.wait_lost());
        must(co_await inner.wait_lost());
        must(co_await part.wait_lost());
        for (const guard* held : {&reader, &outer, &inner})
            CHECK(told(*held) == loss_reason::session_expired);
        CHECK(told(some) == loss_reason::session_expired);
        CHECK(told(part) == loss_reason::session_expired);
    });
}

TEST_CASE("a notice comes so much earlier")
{
    play_timed<0>(250ms, {}, [](timed_scene& noted, const any_io_executor& executor) -> awaitable<void> {
        proxy link(server().port());
        auto options = fault_options(link.address(), 4000ms);
        options.loss_notice = 1000ms;
        client zk(executor, options);
        must(co_await zk.wait_connected(60s));
        guard held = must(co_await mutex(zk, new_path()).acquire());
        link.block();
        auto lost = begin_wait_lost(held);
        lease_clock::time_point ends;
        const auto last_look = [&] {
            if (held)
                ends = held.held_until();
            return lost.ended();
        };
        co_await until("it is lost", last_look);
        const auto early = ends - lease_clock::now();
        noted.expect(early > 500ms, "early enough");
        CHECK(early <= 1000ms);
        link.unblock();
        must(co_await zk.close());
    });
}

TEST_CASE("run: the body is cancelled when the lock is lost, before the next has it")
{
    const std::uint16_t port = server().port();
    const auto story = [&](timed_scene& noted, remote_client& a, remote_client& b) -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        const auto path = new_path();
        mutex lock(a.zk, path);

        bool cancelled = false, held_at_the_end = true;
        steady_clock::time_point cancelled_at;
        auto waits = [&](guard& held) -> awaitable<result<int>> {
            asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
            a.link.block();
            try {
                co_await timer.async_wait(asio::use_awaitable);
            } catch (const boost::system::system_error& e) {
                cancelled = e.code() == asio::error::operation_aborted;
                cancelled_at = steady_clock::now();
                held_at_the_end = static_cast<bool>(held);
                throw;
            }
            co_return 1;
        };
        auto waiting = pending<guard>();
        const auto queue = [&]() -> awaitable<void> {
            admin_client admin(port);
            co_await until_queued(admin, path, 1);
            mutex(b.zk, path).acquire(waiting.handler());
        };
        asio::co_spawn(executor, queue(), [](std::exception_ptr e) { CHECK(!e); });
        const result<int> ran = co_await lock.run(waits);
        CHECK(error_in(ran) == errc::lost);
        CHECK(cancelled);
        CHECK_FALSE(held_at_the_end);
        REQUIRE(!co_await waiting.end());
        noted.expect(cancelled_at < waiting.ended_at(), "cancelled before the next has it");
        a.link.unblock();
        co_await take_turn(waiting);
    };
    play_timed<2>(250ms, {.sessions = {4000ms}}, story);
}
