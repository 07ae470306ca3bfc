// Sessions that end, servers that restart, nodes deleted by others, clients that are closed in the middle of it.
#include "integration/fault_scene.hpp"

#include "support/one_server.hpp"
#include "support/port_lease.hpp"

#include <boost/asio/co_spawn.hpp>

#include <deque>
#include <optional>

using namespace zklock::test;
using namespace std::chrono_literals;
namespace asio = boost::asio;
using asio::awaitable;
using zklock::connection_state;
using zklock::errc;
using zklock::guard;
using zklock::mutex;
using zklock::result;

namespace {

std::string new_path()
{
    static int count = 0;
    return "/faults/session/" + std::to_string(count++);
}

awaitable<void> until_queued(admin_client& admin, const std::string& path, std::size_t count)
{
    co_await until("the contenders have nodes", [&] { return admin.children(path).size() == count; });
}

awaitable<void> release_well(pending<guard>& held)
{
    auto releasing = begin_release(held.value());
    CHECK(!co_await releasing.end());
}

} // namespace

// --- sessions that end ---------------------------------------------------------------------------------------------

TEST_CASE("a holder whose session is ended loses the lock and is told, and the next waiter has it")
{
    const std::uint16_t port = server().port();
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        remote_client a(executor, port), b(executor, port);
        admin_client admin(port);
        co_await a.connect();
        co_await b.connect();
        const auto path = new_path();
        const std::int64_t old_session = a.zk.session_id();
        auto held = begin_acquire(mutex(a.zk, path));
        REQUIRE(!co_await held.end());
        auto lost = begin_wait_lost(held.value());
        auto lost_too = begin_wait_lost(held.value());
        auto waiting = begin_acquire(mutex(b.zk, path));
        co_await until_queued(admin, path, 2);
        CHECK_FALSE(lost.ended());

        a.link.expire_session(old_session);
        CHECK(!co_await lost.end());
        CHECK(!co_await lost_too.end());
        CHECK_FALSE(held.value());
        CHECK(held.value().held_until() < zklock::lease_clock::now());
        REQUIRE(!co_await waiting.end());
        CHECK(waiting.value().fencing_token() > held.value().fencing_token());
        auto releasing = begin_release(held.value());
        CHECK(co_await releasing.end() == errc::lost);
        co_await a.connect();
        CHECK(a.zk.session_id() != old_session);
        CHECK(waiting.value()); // the end of the one has not touched the other

        // The client goes on with its new session.
        auto again = begin_acquire(mutex(a.zk, path));
        co_await until_queued(admin, path, 2);
        co_await release_well(waiting);
        REQUIRE(!co_await again.end());
        co_await release_well(again);
        co_await nothing_left(port);
        co_await a.close();
        co_await b.close();
    };
    run_test(test_limit, body);
    expect_clean(server());
}

TEST_CASE("waiters whose session is ended queue again under the new one, behind the others, until their own deadline")
{
    const std::uint16_t port = server().port();
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        remote_client a(executor, port), b(executor, port), c(executor, port);
        admin_client admin(port);
        co_await a.connect();
        co_await b.connect();
        co_await c.connect();
        const auto path = new_path();
        auto first = begin_acquire(mutex(a.zk, path));
        REQUIRE(!co_await first.end());
        auto second = begin_acquire(mutex(b.zk, path), 60s);
        auto second_too = begin_acquire(mutex(b.zk, path), 60s);
        co_await until_queued(admin, path, 3);
        const auto begun = steady_clock::now();
        constexpr milliseconds patience{8'000};
        auto impatient = begin_acquire(mutex(b.zk, path), patience);
        co_await until_queued(admin, path, 4);
        auto third = begin_acquire(mutex(c.zk, path));
        co_await until_queued(admin, path, 5);

        const std::int64_t old_session = b.zk.session_id();
        // So late that a deadline that began anew would be clearly later.
        co_await until("a part of its time is over", [&] { return steady_clock::now() > begun + patience / 3; });
        b.link.expire_session();
        const auto expired_at = steady_clock::now();
        co_await until("they queue again", [&] {
            return b.zk.session_id() != 0 && b.zk.session_id() != old_session && admin.children(path).size() == 5;
        });
        const result<std::vector<zklock::contender>> seen = co_await mutex(b.zk, path).contenders();
        REQUIRE(!seen.has_error());
        REQUIRE(seen.value().size() == 5);
        CHECK(seen.value()[0].session_id == a.zk.session_id());
        CHECK(seen.value()[1].session_id == c.zk.session_id());
        for (int i : {2, 3, 4})
            CHECK(seen.value()[static_cast<std::size_t>(i)].session_id == b.zk.session_id());
        CHECK(first.value());
        CHECK(co_await impatient.end() == errc::timed_out); // the deadline is not begun anew
        CHECK(impatient.ended_at() - begun >= patience);
        CHECK(impatient.ended_at() < expired_at + patience);

        co_await release_well(first);
        REQUIRE(!co_await third.end());
        CHECK_FALSE(second.ended());
        co_await release_well(third);
        REQUIRE(!co_await second.end());
        CHECK_FALSE(second_too.ended());
        CHECK(second.value().fencing_token() > third.value().fencing_token());
        co_await release_well(second);
        REQUIRE(!co_await second_too.end());
        co_await release_well(second_too);
        co_await nothing_left(port);
        co_await a.close();
        co_await b.close();
        co_await c.close();
    };
    run_test(test_limit, body);
    expect_clean(server());
}

TEST_CASE("with a limit on its attempts an acquire says what used them up")
{
    const std::uint16_t port = server().port();
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        remote_client a(executor, port), b(executor, port);
        admin_client admin(port);
        co_await a.connect();
        co_await b.connect();
        const auto path = new_path();
        auto held = begin_acquire(mutex(a.zk, path));
        REQUIRE(!co_await held.end());
        zklock::mutex_options once;
        once.max_attempts = 1;
        auto waiting = begin_acquire(mutex(b.zk, path, once));
        co_await until_queued(admin, path, 2);
        b.link.expire_session();
        CHECK(co_await waiting.end() == errc::session_expired);
        b.link.on_next(opcode::create2, moment::request, fate::cut);
        auto unlucky = begin_acquire(mutex(b.zk, path, once));
        CHECK(co_await unlucky.end() == errc::not_connected);
        co_await release_well(held);
        co_await nothing_left(port);
        co_await a.close();
        co_await b.close();
    };
    run_test(test_limit, body);
    expect_clean(server());
}

// --- a server that restarts ----------------------------------------------------------------------------------------

TEST_CASE("a server is killed and restarted on its data: the holder goes on holding, the waiters keep their places")
{
    zookeeper_server own;
    const std::uint16_t port = own.port();
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
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
        auto impatient = begin_acquire(mutex(clients[1].zk, path), 50ms);
        CHECK(co_await impatient.end() == errc::timed_out);
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
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        remote_client a(executor, port, 6s), b(executor, port, 24s);
        co_await a.connect();
        co_await b.connect();
        const auto path = new_path();
        auto held = begin_acquire(mutex(a.zk, path));
        REQUIRE(!co_await held.end());
        auto lost = begin_wait_lost(held.value());
        auto waiting = begin_acquire(mutex(b.zk, path));
        {
            admin_client admin(port);
            co_await until_queued(admin, path, 2);
        }
        own.pause();
        CHECK(!co_await lost.end());
        CHECK_FALSE(held.value());
        CHECK_FALSE(waiting.ended());
        own.kill(); // a server that starts gives every session its full time again
        own.start();
        REQUIRE(!co_await waiting.end());
        CHECK(waiting.value().fencing_token() > held.value().fencing_token());
        CHECK_FALSE(held.value());
        auto releasing = begin_release(held.value());
        CHECK(co_await releasing.end() == errc::lost);
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
    const std::uint16_t port = server().port();
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        remote_client a(executor, port, 15s);
        co_await a.connect();
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
        CHECK(took >= 4s);
        CHECK(took < 9s);
        a.link.unblock();
        co_await until("connected", [&] { return a.zk.state() == connection_state::connected; });
        CHECK(a.zk.session_id() == session);
        co_await a.close();
    };
    run_test(test_limit, body);
    expect_clean(server());
}

// --- nodes deleted by others ---------------------------------------------------------------------------------------

TEST_CASE("a waiter whose node is deleted by others queues again at the tail and is not granted before its turn")
{
    const std::uint16_t port = server().port();
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        remote_client a(executor, port), b(executor, port), c(executor, port);
        admin_client admin(port);
        co_await a.connect();
        co_await b.connect();
        co_await c.connect();
        const auto path = new_path();
        auto first = begin_acquire(mutex(a.zk, path));
        REQUIRE(!co_await first.end());
        auto second = begin_acquire(mutex(b.zk, path));
        co_await until_queued(admin, path, 2);
        auto third = begin_acquire(mutex(c.zk, path));
        co_await until_queued(admin, path, 3);
        const auto before = queue_of(admin, path);
        co_await until("the second watches its own node",
                       [&] { return watches_node(port, b.zk.session_id(), path + "/" + before[1]); });

        REQUIRE(admin.remove(path + "/" + before[1]));
        co_await until("it queues again", [&] {
            const auto now = queue_of(admin, path);
            return now.size() == 3 && now[0] == before[0] && now[1] == before[2];
        });
        CHECK_FALSE(second.ended());
        CHECK_FALSE(third.ended());
        CHECK(first.value());
        co_await release_well(first);
        REQUIRE(!co_await third.end());
        CHECK_FALSE(second.ended());
        co_await release_well(third);
        REQUIRE(!co_await second.end());
        co_await release_well(second);
        co_await nothing_left(port);
        co_await a.close();
        co_await b.close();
        co_await c.close();
    };
    run_test(test_limit, body);
    expect_clean(server());
}

TEST_CASE("a waiter whose node is deleted while nobody watches it finds out before it is granted")
{
    const std::uint16_t port = server().port();
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        remote_client a(executor, port), b(executor, port);
        admin_client admin(port);
        co_await a.connect();
        co_await b.connect();
        const auto path = new_path();
        auto first = begin_acquire(mutex(a.zk, path));
        REQUIRE(!co_await first.end());
        auto second = begin_acquire(mutex(b.zk, path));
        co_await until_queued(admin, path, 2);
        const auto nodes = queue_of(admin, path);
        // All of it happens while the waiter cannot hear of it: its node is gone, and then its predecessor.
        b.link.refuse();
        b.link.cut();
        co_await b.suspended();
        REQUIRE(admin.remove(path + "/" + nodes[1]));
        auto blocker = admin.create(path + "/x-lock-", {}, create_mode::ephemeral_sequential);
        co_await release_well(first);
        b.link.accept();
        co_await until("it queues again", [&] {
            const auto now = queue_of(admin, path);
            return now.size() == 2 && watches_node(port, b.zk.session_id(), blocker);
        });
        CHECK_FALSE(second.ended());
        REQUIRE(admin.remove(blocker));
        REQUIRE(!co_await second.end());
        CHECK(second.value().node() != path + "/" + nodes[1]);
        co_await release_well(second);
        co_await nothing_left(port);
        co_await a.close();
        co_await b.close();
    };
    run_test(test_limit, body);
    expect_clean(server());
}

TEST_CASE("a holder that holds on notices that others deleted its node")
{
    const std::uint16_t port = server().port();
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        remote_client a(executor, port), b(executor, port);
        admin_client admin(port);
        co_await a.connect();
        co_await b.connect();
        const auto path = new_path();
        auto held = begin_acquire(mutex(a.zk, path));
        REQUIRE(!co_await held.end());
        auto lost = begin_wait_lost(held.value());
        auto waiting = begin_acquire(mutex(b.zk, path));
        const auto node = held.value().node();
        co_await until("it watches its own node", [&] { return watches_node(port, a.zk.session_id(), node); });

        // Its data may change as they like.
        admin.set(node, "something else");
        co_await until("it watches again", [&] { return watches_node(port, a.zk.session_id(), node); });
        CHECK_FALSE(lost.ended());
        CHECK(held.value());

        // Deleted while it is cut off: seen after the reconnect.
        const bool while_away = true;
        for (const bool away : {false, while_away}) {
            auto& current = away ? waiting : held;
            auto& owner = away ? b : a;
            auto current_lost = begin_wait_lost(current.value());
            const auto current_node = current.value().node();
            co_await until("it watches its own node",
                           [&] { return watches_node(port, owner.zk.session_id(), current_node); });
            if (away) {
                owner.link.refuse();
                owner.link.cut();
                co_await owner.suspended();
            }
            REQUIRE(admin.remove(current_node));
            if (away) {
                CHECK(current.value());
                owner.link.accept();
            }
            CHECK(!co_await current_lost.end(6s)); // a heartbeat would take longer
            CHECK_FALSE(current.value());
            if (!away)
                REQUIRE(!co_await waiting.end());
            auto releasing = begin_release(current.value());
            CHECK(co_await releasing.end() == errc::lost);
        }
        CHECK(lost.ended());
        co_await nothing_left(port);
        co_await a.close();
        co_await b.close();
    };
    run_test(test_limit, body);
    expect_clean(server());
}

TEST_CASE("the parent is deleted under a holder and waiters, and made again")
{
    const std::uint16_t port = server().port();
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        remote_client a(executor, port), b(executor, port), c(executor, port);
        admin_client admin(port);
        for (auto* client : {&a, &b, &c})
            co_await client->connect();
        const auto path = new_path();
        auto held = begin_acquire(mutex(a.zk, path));
        REQUIRE(!co_await held.end());
        auto lost = begin_wait_lost(held.value());
        const std::int64_t first_token = held.value().fencing_token();
        auto waiting = begin_acquire(mutex(b.zk, path));
        auto waiting_too = begin_acquire(mutex(b.zk, path));
        auto waiting_three = begin_acquire(mutex(c.zk, path));
        co_await until_queued(admin, path, 4);
        co_await until("the holder watches its node",
                       [&] { return watches_node(port, a.zk.session_id(), held.value().node()); });
        const auto parent = admin.exists(path);
        REQUIRE(parent);

        // Nobody can come back before the parent is gone.
        for (auto* client : {&a, &b, &c})
            client->link.block(direction::requests);
        auto nodes = queue_of(admin, path);
        std::reverse(nodes.begin(), nodes.end()); // or the first deletion would be a grant
        for (const auto& node : nodes)
            REQUIRE(admin.remove(path + "/" + node));
        REQUIRE(admin.remove(path));
        CHECK(!co_await lost.end());
        CHECK_FALSE(waiting.ended());
        CHECK_FALSE(waiting_three.ended());
        for (auto* client : {&a, &b, &c})
            client->link.unblock();

        std::vector<pending<guard>*> left{&waiting, &waiting_too, &waiting_three};
        std::int64_t last_token = first_token;
        while (!left.empty()) {
            co_await until("somebody has the lock",
                           [&] { return std::any_of(left.begin(), left.end(), [](auto* p) { return p->ended(); }); });
            std::vector<pending<guard>*> now;
            std::copy_if(left.begin(), left.end(), std::back_inserter(now), [](auto* p) { return p->ended(); });
            REQUIRE(now.size() == 1);
            REQUIRE(!now[0]->error());
            CHECK(now[0]->value().fencing_token() > last_token);
            last_token = now[0]->value().fencing_token();
            co_await release_well(*now[0]);
            std::erase(left, now[0]);
        }
        const auto new_parent = admin.exists(path);
        REQUIRE(new_parent);
        CHECK(new_parent->czxid > parent->czxid);

        // Between two acquires the parent may go, too, and the numbers begin again; the tokens do not.
        co_await nothing_left(port);
        for (int i = 0; i < 3; ++i) {
            admin.remove_all(path);
            for (auto* client : {&a, &b}) {
                auto again = begin_acquire(mutex(client->zk, path));
                REQUIRE(!co_await again.end());
                CHECK(again.value().fencing_token() > last_token);
                last_token = again.value().fencing_token();
                co_await release_well(again);
            }
        }
        co_await nothing_left(port);
        for (auto* client : {&a, &b, &c})
            co_await client->close();
    };
    run_test(test_limit, body);
    expect_clean(server());
}

// --- clients that are closed ---------------------------------------------------------------------------------------

TEST_CASE("a client is closed with holders and waiters: all ends once, then the close, and nothing is left at once")
{
    const std::uint16_t port = server().port();
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        remote_client a(executor, port), b(executor, port);
        co_await a.connect();
        co_await b.connect();
        admin_client admin(port);
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
        auto foreign = begin_acquire(mutex(b.zk, path));
        REQUIRE(!co_await foreign.end());
        waiting.push_back(begin_acquire(mutex(a.zk, path)));
        co_await until("all have nodes", [&] { return ephemeral_count(port) == 15; });
        auto releasing = begin_release(held[4].value());

        pending<> closed;
        std::size_t ended_before = 0;
        auto on_closed = closed.handler();
        a.zk.close(asio::bind_executor(executor, [&, handler = std::move(on_closed)](zklock::error_code ec) mutable {
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
        auto late = begin_acquire(mutex(a.zk, path));
        CHECK(co_await late.end() == errc::closed);
        const result<void> connected = co_await a.zk.wait_connected(60s);
        CHECK(connected.error() == errc::closed);
        CHECK(foreign.value());
        co_await release_well(foreign);
        co_await nothing_left(port);
        co_await b.close();
    };
    run_test(test_limit, body);
    expect_clean(server());
}

TEST_CASE("a client is closed while a create is under way: its node goes with the session")
{
    const std::uint16_t port = server().port();
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        remote_client a(executor, port);
        co_await a.connect();
        const auto path = new_path();
        a.link.on_next(opcode::create2, moment::reply, fate::hold);
        admin_client admin(port);
        admin.create_all(path);
        auto acquiring = begin_acquire(mutex(a.zk, path));
        co_await until_queued(admin, path, 1);
        const auto begun = steady_clock::now();
        pending<> closed;
        a.zk.close(closed.handler());
        CHECK(co_await acquiring.end() == errc::closed);
        CHECK(!co_await closed.end(20s)); // the session would take longer to end by itself
        CHECK(steady_clock::now() - begun < 15s);
        co_await nothing_left(port);
        a.link.release();
    };
    run_test(test_limit, body);
    expect_clean(server());
}

TEST_CASE("without a close, the last handle's end closes the client")
{
    const std::uint16_t port = server().port();
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        std::optional<remote_client> a;
        a.emplace(executor, port);
        co_await a->connect();
        const auto path = new_path();
        auto held = begin_acquire(mutex(a->zk, path));
        REQUIRE(!co_await held.end());
        auto lost = begin_wait_lost(held.value());
        auto waiting = begin_acquire(mutex(a->zk, path));
        co_await until("both have nodes", [&] { return ephemeral_count(port) == 2; });
        proxy& link = a->link;
        {
            zklock::client copy = a->zk;
            std::optional<mutex> last;
            last.emplace(copy, path);
            a->zk = zklock::client(executor, fault_options(link.address(), long_session));
            copy = a->zk;
            CHECK(held.value()); // a mutex is left
        }
        CHECK(co_await waiting.end() == errc::closed);
        CHECK(!co_await lost.end());
        CHECK_FALSE(held.value());
        co_await nothing_left(port);
        co_await a->close();
    };
    run_test(test_limit, body);
    expect_clean(server());
}

TEST_CASE("a close is bounded in time: no server, a server that never answers, one that stops answering")
{
    enum class network { no_server, silent_from_the_start, silent_later, cut_later };
    const std::uint16_t port = server().port();
    for (const network how :
         {network::no_server, network::silent_from_the_start, network::silent_later, network::cut_later}) {
        CAPTURE(static_cast<int>(how));
        const auto body = [&]() -> awaitable<void> {
            const auto executor = co_await asio::this_coro::executor;
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
                    a.link.refuse();
                    a.link.cut();
                    co_await a.suspended();
                }
            } else {
                const result<void> connected = co_await a.zk.wait_connected(50ms);
                CHECK(connected.error() == errc::timed_out);
                CHECK(a.zk.state() == connection_state::connecting);
                CHECK(a.zk.session_id() == 0);
                held = begin_acquire(mutex(a.zk, path), 50ms);
                CHECK(co_await held.end() == errc::timed_out);
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
        };
        run_test(test_limit, body);
        expect_clean(server());
    }
}
