// program: faults
// Clients that are closed in the middle of something, and how long that takes at most.
#include "integration/play.hpp"

using namespace zklock::test;

TEST_CASE("a client is closed with holders and waiters: all ends once, then the close, and nothing is left at once")
{
    const std::uint16_t port = server().port();
    play<2>([&](remote_client& a, remote_client& b, const any_io_executor& executor) -> awaitable<void> {
        const auto path = new_path();
        std::vector<pending<guard>> held, waiting;
        std::vector<pending<>> lost;
        for (int i = 0; i < 5; ++i) {
            const mutex lock(a.zk, path + "/" + std::to_string(i));
            held.push_back(begin_acquire(lock));
            REQUIRE(!co_await held.back().end());
            lost.push_back(begin_wait_lost(held.back().value()));
            if (i == 4)
                continue; // it is released: a waiter would have it before the close
            waiting.push_back(begin_acquire(lock));
            waiting.push_back(begin_acquire(lock, 60s));
        }
        guard foreign = must(co_await mutex(b.zk, path).acquire());
        waiting.push_back(begin_acquire(mutex(a.zk, path)));
        co_await until("all have nodes", [&] { return ephemeral_count(port) == 15; });
        auto releasing = begin_release(held[4].value());

        pending<> closed;
        std::size_t ended_before = 0;
        auto on_closed = closed.handler();
        a.zk.close(asio::bind_executor(executor, [&, handler = std::move(on_closed)](error_code ec) mutable {
            for (const auto& p : waiting)
                ended_before += p.ended();
            for (const auto& p : lost)
                ended_before += p.ended();
            ended_before += releasing.ended();
            std::move(handler)(ec);
        }));
        auto closed_too = pending<>();
        a.zk.close(closed_too.handler());
        CHECK(!co_await closed.end(20s)); // the session would take longer to end by itself
        CHECK(!co_await closed_too.end(20s));
        CHECK(ended_before == waiting.size() + lost.size() + 1);
        const auto left = ephemerals(port); // of the other client only
        CHECK(left.size() == 1);
        CHECK(left.contains(b.zk.session_id()));
        CHECK(a.zk.state() == connection_state::closed);
        CHECK(a.zk.session_id() == 0);
        for (const auto& p : waiting)
            CHECK(p.error() == errc::closed);
        for (std::size_t i = 0; i < 4; ++i) {
            CHECK(!lost[i].error());
            CHECK_FALSE(held[i].value());
            auto late = begin_release(held[i].value());
            CHECK(co_await late.end() == errc::lost);
        }
        CHECK(releasing.error() == errc::closed); // cut short; the node went with the session
        CHECK(lost[4].error() == asio::error::operation_aborted);
        CHECK(error_in(co_await mutex(a.zk, path).acquire()) == errc::closed);
        const result<void> connected = co_await a.zk.wait_connected(60s);
        CHECK(connected.error() == errc::closed);
        CHECK(foreign);
        co_await release(foreign);
    });
}

TEST_CASE("a client is closed while a create is under way: its node goes with the session")
{
    const std::uint16_t port = server().port();
    play<0>([&](const any_io_executor& executor) -> awaitable<void> {
        remote_client a(executor, port);
        co_await a.connect();
        const auto path = new_path();
        a.link.on_next(opcode::create2, moment::reply, fate::hold);
        admin_client admin(port);
        admin.create_all(path);
        auto acquiring = co_await queued(admin, path, 1, begin_acquire(mutex(a.zk, path)));
        const auto begun = steady_clock::now();
        pending<> closed;
        a.zk.close(closed.handler());
        CHECK(co_await acquiring.end() == errc::closed);
        CHECK(!co_await closed.end(20s)); // the session would take longer to end by itself
        CHECK(steady_clock::now() - begun < 15s);
        co_await nothing_left(port);
        a.link.release();
    });
}

TEST_CASE("a close is bounded in time: no server, a server that never answers, one that stops answering")
{
    enum class network { no_server, silent_from_the_start, silent_later, cut_later };
    const std::uint16_t port = server().port();
    for (const network how :
         {network::no_server, network::silent_from_the_start, network::silent_later, network::cut_later}) {
        CAPTURE(static_cast<int>(how));
        play<0>([&](const any_io_executor& executor) -> awaitable<void> {
            port_lease nobody;
            remote_client a(executor, how == network::no_server ? nobody.port() : port, long_session);
            if (how == network::silent_from_the_start)
                a.link.block();
            const auto path = new_path();
            pending<guard> held;
            if (how == network::silent_later || how == network::cut_later) {
                co_await a.connect();
                held = begin_acquire(mutex(a.zk, path));
                REQUIRE(!co_await held.end());
                if (how == network::silent_later) {
                    a.link.block();
                } else {
                    co_await a.cut_off();
                }
            } else {
                const result<void> connected = co_await a.zk.wait_connected(50ms);
                CHECK(connected.error() == errc::not_connected);
                CHECK(a.zk.state() == connection_state::connecting);
                CHECK(a.zk.session_id() == 0);
                held = begin_acquire(mutex(a.zk, path), 50ms);
                CHECK(co_await held.end() == errc::not_connected);
            }
            auto waiting = begin_acquire(mutex(a.zk, path));
            pending<> connecting;
            a.zk.wait_connected(60s, connecting.handler());
            const auto begun = steady_clock::now();
            pending<> closed;
            a.zk.close(closed.handler());
            CHECK(co_await waiting.end() == errc::closed);
            CHECK(!co_await closed.end());
            const auto took = std::chrono::duration_cast<milliseconds>(steady_clock::now() - begun);
            MESSAGE("close took ", took.count(), " ms");
            CHECK(took < 15s); // long before the session's end
            CHECK(!co_await connecting.end() == (how == network::silent_later));
            a.link.unblock();
            a.link.accept();
        });
    }
}
