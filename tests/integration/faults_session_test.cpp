// sanitizers: address
// program: faults
// Sessions that end, and servers that restart or are away.
#include "integration/play.hpp"

using namespace zklock::test;

// --- sessions that end ---------------------------------------------------------------------------------------------

TEST_CASE("a holder whose session is ended loses the lock and is told, and the next waiter has it")
{
    play<2>([&](admin_client& admin, remote_client& a, remote_client& b) -> awaitable<void> {
        const auto path = new_path();
        const std::int64_t old_session = a.zk.session_id();
        guard held = must(co_await mutex(a.zk, path).acquire());
        auto lost = begin_wait_lost(held);
        auto lost_too = begin_wait_lost(held);
        auto waiting = co_await queued(admin, path, 2, begin_acquire(mutex(b.zk, path)));
        CHECK_FALSE(lost.ended());

        a.link.expire_session(old_session);
        CHECK(!co_await lost.end());
        CHECK(!co_await lost_too.end());
        CHECK_FALSE(held);
        CHECK(held.held_until() < lease_clock::now());
        REQUIRE(!co_await waiting.end());
        CHECK(waiting.value().fencing_token() > held.fencing_token());
        CHECK(error_in(co_await std::move(held).release()) == errc::lost);
        co_await a.connect();
        CHECK(a.zk.session_id() != old_session);
        CHECK(waiting.value()); // the end of the one has not touched the other

        // The client goes on with its new session.
        auto again = co_await queued(admin, path, 2, begin_acquire(mutex(a.zk, path)));
        co_await release_well(waiting);
        co_await take_turn(again);
    });
}

TEST_CASE("waiters whose session is ended queue again under the new one, behind the others, until their own deadline")
{
    play<3>([&](admin_client& admin, remote_client& a, remote_client& b, remote_client& c) -> awaitable<void> {
        const auto path = new_path();
        guard first = must(co_await mutex(a.zk, path).acquire());
        auto second = begin_acquire(mutex(b.zk, path), 60s);
        auto second_too = co_await queued(admin, path, 3, begin_acquire(mutex(b.zk, path), 60s));
        const auto begun = steady_clock::now();
        constexpr milliseconds patience{12'000};
        auto impatient = co_await queued(admin, path, 4, begin_acquire(mutex(b.zk, path), patience));
        auto third = co_await queued(admin, path, 5, begin_acquire(mutex(c.zk, path)));

        const std::int64_t old_session = b.zk.session_id();
        // So late that a deadline that began anew would be clearly later.
        co_await until("a part of its time is over", [&] { return steady_clock::now() > begun + patience / 3; });
        b.link.expire_session();
        const auto expired_at = steady_clock::now();
        co_await until("they queue again", [&] {
            return b.zk.session_id() != 0 && b.zk.session_id() != old_session && admin.children(path).size() == 5;
        });
        const result<std::vector<contender>> seen = co_await mutex(b.zk, path).contenders();
        REQUIRE(!seen.has_error());
        REQUIRE(seen.value().size() == 5);
        CHECK(seen.value()[0].session_id == a.zk.session_id());
        CHECK(seen.value()[1].session_id == c.zk.session_id());
        for (int i : {2, 3, 4})
            CHECK(seen.value()[static_cast<std::size_t>(i)].session_id == b.zk.session_id());
        CHECK(first);
        CHECK(co_await impatient.end() == errc::timed_out); // the deadline is not begun anew
        CHECK(impatient.ended_at() - begun >= patience);
        CHECK(impatient.ended_at() < expired_at + patience);

        co_await release(first);
        REQUIRE(!co_await third.end());
        CHECK_FALSE(second.ended());
        co_await release_well(third);
        REQUIRE(!co_await second.end());
        CHECK_FALSE(second_too.ended());
        CHECK(second.value().fencing_token() > third.value().fencing_token());
        co_await release_well(second);
        co_await take_turn(second_too);
    });
}

// --- a server that restarts ----------------------------------------------------------------------------------------

TEST_CASE("with a limit on its attempts an acquire says what used them up")
{
    play<2>([&](admin_client& admin, remote_client& a, remote_client& b) -> awaitable<void> {
        const auto path = new_path();
        guard held = must(co_await mutex(a.zk, path).acquire());
        const auto once = with(&mutex_options::max_attempts, 1);
        auto waiting = co_await queued(admin, path, 2, begin_acquire(mutex(b.zk, path, once)));
        b.link.expire_session();
        CHECK(co_await waiting.end() == errc::session_expired);
        b.link.on_next(opcode::create2, moment::request, fate::cut);
        CHECK(error_in(co_await mutex(b.zk, path, once).acquire()) == errc::not_connected);
        auto deleted = co_await queued(admin, path, 2, begin_acquire(mutex(b.zk, path, once)));
        REQUIRE(admin.remove(path + "/" + queue_of(admin, path).back()));
        CHECK(co_await deleted.end() == errc::lost);

        // The answer to its create is lost, but the node is found again: so it is its deletion that ends the attempt.
        b.link.on_next(opcode::create2, moment::reply, fate::cut);
        auto found_again = co_await queued(admin, path, 2, begin_acquire(mutex(b.zk, path, once)));
        const std::string node = path + "/" + queue_of(admin, path).back();
        co_await until_watched(b.zk, node);
        CHECK_FALSE(found_again.ended());
        REQUIRE(admin.remove(node));
        CHECK(co_await found_again.end() == errc::lost);
        co_await release(held);
    });
}

TEST_CASE("a server is killed and restarted on its data: the holder goes on holding, the waiters keep their places")
{
    zookeeper_server own;
    const std::uint16_t port = own.port();
    const auto body = [&](const any_io_executor& executor) -> awaitable<void> {
        std::deque<remote_client> clients;
        std::vector<pending<guard>> grants;
        std::vector<std::string> order;
        const auto path = new_path();
        std::int64_t session = 0;
        {
            admin_client admin(port);
            for (int i = 0; i < 3; ++i) {
                auto& client = clients.emplace_back(executor, port, 24s);
                co_await client.connect();
                grants.push_back(begin_acquire(mutex(client.zk, path)));
                co_await until_queued(admin, path, static_cast<std::size_t>(i) + 1);
            }
            order = queue_of(admin, path);
            session = clients[0].zk.session_id();
        }
        REQUIRE(!co_await grants[0].end());
        auto lost = begin_wait_lost(grants[0].value());
        own.kill();
        co_await clients[0].suspended();
        CHECK(grants[0].value()); // the session may live
        CHECK(error_in(co_await mutex(clients[1].zk, path).acquire(50ms)) == errc::timed_out);
        own.start();
        // A server that is about to start can swallow a connection: then it takes a third of the session's time.
        co_await until("all are connected again", [&] {
            return std::all_of(clients.begin(), clients.end(),
                               [](auto& c) { return c.zk.state() == connection_state::connected; });
        });
        admin_client admin(port);
        CHECK(clients[0].zk.session_id() == session);
        CHECK(grants[0].value());
        CHECK_FALSE(lost.ended());
        CHECK(queue_of(admin, path) == order);
        CHECK_FALSE(grants[1].ended());
        for (std::size_t i = 0; i < 3; ++i) {
            REQUIRE(!co_await grants[i].end());
            CHECK(grants[i].value().node() == path + "/" + order[i]);
            CHECK(admin.children(path).size() == 3 - i);
            co_await release_well(grants[i]);
        }
        CHECK(co_await lost.end() == asio::error::operation_aborted);
        co_await nothing_left(port);
        for (auto& client : clients)
            co_await client.close();
    };
    run_test(test_limit, body);
    expect_clean(own);
}

TEST_CASE("a server is away for longer than the lease: the holder is told, and gives up, although its session lives")
{
    zookeeper_server own;
    const std::uint16_t port = own.port();
    const auto body = [&](const any_io_executor& executor) -> awaitable<void> {
        remote_client a(executor, port, 6s), b(executor, port, 24s);
        co_await a.connect();
        co_await b.connect();
        const auto path = new_path();
        guard held = must(co_await mutex(a.zk, path).acquire());
        auto lost = begin_wait_lost(held);
        auto waiting = begin_acquire(mutex(b.zk, path));
        {
            admin_client admin(port);
            co_await until_queued(admin, path, 2);
        }
        own.pause();
        CHECK(!co_await lost.end());
        CHECK_FALSE(held);
        CHECK_FALSE(waiting.ended());
        own.kill(); // a server that starts gives every session its full time again
        own.start();
        REQUIRE(!co_await waiting.end());
        CHECK(waiting.value().fencing_token() > held.fencing_token());
        CHECK_FALSE(held);
        CHECK(error_in(co_await std::move(held).release()) == errc::lost);
        co_await release_well(waiting);
        co_await nothing_left(port);
        co_await a.close();
        co_await b.close();
    };
    run_test(test_limit, body);
    expect_clean(own);
}

TEST_CASE("however often a server has refused, the first connection that it swallows costs a third of the time-out")
{
    play_timed<1>(500ms, {.sessions = {15s}}, [&](timed_scene& noted, remote_client& a) -> awaitable<void> {
        const std::int64_t session = a.zk.session_id();
        a.link.refuse();
        a.link.cut();
        const auto cut_at = steady_clock::now();
        co_await until("many refusals", [&] { return steady_clock::now() > cut_at + 500ms; });
        const std::size_t before = a.link.accepted();
        a.link.block();
        a.link.accept();
        co_await until("a connection is swallowed", [&] { return a.link.accepted() == before + 1; });
        const auto begun = steady_clock::now();
        co_await until("the next attempt", [&] { return a.link.accepted() == before + 2; });
        const auto took = steady_clock::now() - begun;
        noted.expect(took >= 4s && took < 9s, "a third of the time-out passes before the next attempt");
        a.link.unblock();
        co_await until("connected", [&] { return a.zk.state() == connection_state::connected; });
        CHECK(a.zk.session_id() == session);
    });
}
