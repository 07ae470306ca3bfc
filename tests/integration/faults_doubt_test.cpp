// sanitizers: address
// program: faults
// While there is no connection: creates of which nobody knows whether they were done, and nodes that cannot be deleted
// yet.
#include "integration/cut_scene.hpp"

using namespace zklock::test;
using asio::cancellation_type;

TEST_CASE("whoever gives up while its create is lost leaves no node")
{
    enum class way { terminal, partial, total, timed_out };
    const std::uint16_t port = server().port();
    play<1>([&](admin_client& admin, remote_client& client) -> awaitable<void> {
        co_await connect_and_warm_up(client);
        for (const moment where : {moment::request, moment::reply}) {
            for (const way how : {way::terminal, way::partial, way::total, way::timed_out}) {
                const auto path = new_path(admin);
                CAPTURE(path);
                const int created = where == moment::reply ? 1 : 0;
                client.link.on_next(opcode::create2, where, fate::cut);
                client.link.refuse();
                mutex lock(client.zk, path);
                auto acquiring = how == way::timed_out ? begin_acquire(lock, 2s) : begin_acquire(lock);
                co_await until("the cut was made", [&] { return client.link.struck(); });
                auto behind = begin_acquire(lock); // not before: their creates could go together
                co_await client.suspended();
                CHECK(admin.children(path).size() == static_cast<std::size_t>(created));
                if (how == way::terminal)
                    acquiring.cancel(cancellation_type::terminal);
                else if (how == way::partial)
                    acquiring.cancel(cancellation_type::partial);
                else if (how == way::total)
                    acquiring.cancel(cancellation_type::total);
                const auto ended = co_await acquiring.end(); // still without a connection
                if (how == way::timed_out)
                    CHECK(ended == errc::not_connected);
                else
                    CHECK(ended == asio::error::operation_aborted);
                CHECK(client.zk.state() == connection_state::suspended);
                CHECK_FALSE(behind.ended());
                client.link.accept();
                REQUIRE(!co_await behind.end()); // it would wait for ever behind a node that was left
                co_await release_well(behind);
                co_await nothing_left(port);
                CHECK(creates_under(admin, path) == created + 1);
            }
        }
    });
}

TEST_CASE("a node of another session is never taken for one's own, whatever its name")
{
    const std::uint16_t port = server().port();
    play<1>([&](remote_client& client) -> awaitable<void> {
        admin_client admin(port), forger(port, 60s);
        co_await connect_and_warm_up(client);
        for (const bool expires : {false, true}) {
            CAPTURE(expires);
            const auto path = new_path(admin);
            client.link.forget();
            client.link.on_next(opcode::create2, moment::request, fate::cut);
            client.link.refuse();
            auto acquiring = begin_acquire(mutex(client.zk, path));
            co_await until("the cut was made", [&] { return client.link.struck(); });
            co_await client.suspended();
            std::string wanted;
            for (const auto& seen : client.link.history())
                if (seen.op == opcode::create2)
                    wanted = seen.path;
            REQUIRE(wanted.starts_with(path + "/"));
            const auto forged = forger.create(wanted, "forged", create_mode::ephemeral_sequential);
            const std::int64_t old_session = client.zk.session_id();
            if (expires)
                client.link.expire_session();
            client.link.accept();
            co_await until("it queues behind the forged node", [&] {
                return admin.children(path).size() == 2 && watches_node(port, client.zk.session_id(), forged);
            });
            CHECK_FALSE(acquiring.ended());
            REQUIRE(forger.remove(forged));
            REQUIRE(!co_await acquiring.end());
            CHECK(acquiring.value().node() != forged);
            const auto node = admin.exists(acquiring.value().node());
            REQUIRE(node);
            CHECK(node->ephemeral_owner == client.zk.session_id());
            CHECK((client.zk.session_id() != old_session) == expires);
            co_await release_well(acquiring);
            co_await nothing_left(port);
        }
    });
}

TEST_CASE("a session that expires while a create is lost takes the node with it, and the waiter makes another")
{
    play<1>([&](admin_client& admin, remote_client& client) -> awaitable<void> {
        co_await connect_and_warm_up(client);
        const auto path = new_path(admin);
        const std::int64_t old_session = client.zk.session_id();
        client.link.on_next(opcode::create2, moment::reply, fate::cut);
        client.link.refuse();
        mutex lock(client.zk, path);
        auto acquiring = begin_acquire(lock);
        co_await until("the cut was made", [&] { return client.link.struck(); });
        auto withdrawn = begin_acquire(lock); // not before: their creates could go together
        co_await client.suspended();
        withdrawn.cancel();
        CHECK(co_await withdrawn.end() == asio::error::operation_aborted);
        client.link.expire_session();
        CHECK(admin.children(path).empty());
        client.link.accept();
        REQUIRE(!co_await acquiring.end());
        CHECK(client.zk.session_id() != old_session);
        const auto node = admin.exists(acquiring.value().node());
        REQUIRE(node);
        CHECK(node->ephemeral_owner == client.zk.session_id());
        CHECK(admin.children(path).size() == 1);
        co_await release_well(acquiring);
    });
}

TEST_CASE("clean-up while disconnected: the first error is told at once, the delete goes out later")
{
    const std::uint16_t port = server().port();
    play<2>([&](admin_client& admin, remote_client& client, remote_client& other) -> awaitable<void> {
        co_await connect_and_warm_up(client);
        co_await connect_and_warm_up(other);
        const auto path = new_path(admin);
        mutex lock(client.zk, path);
        guard holding = must(co_await mutex(other.zk, path).acquire());

        // A waiter that times out, and one that is cancelled, while there is no connection.
        auto late = begin_acquire(lock, 4s); // not before the connection is gone
        auto cancelled = begin_acquire(lock);
        co_await until("both have nodes", [&] { return admin.children(path).size() == 3; });
        co_await client.cut_off();
        cancelled.cancel();
        CHECK(co_await cancelled.end() == asio::error::operation_aborted);
        CHECK(co_await late.end() == condition::not_in_time);
        const result<guard> tried = co_await lock.try_acquire();
        CHECK(tried.error() == errc::not_connected);
        CHECK(admin.children(path).size() == 3);
        client.link.on_next(opcode::multi, moment::reply, fate::cut); // the clean-up, of both together, fails once, too
        client.link.accept();
        co_await until("both nodes are gone", [&] { return admin.children(path).size() == 1; });
        co_await until("the cut was made", [&] { return client.link.struck(); });
        co_await release(holding);
        co_await nothing_left(port);

        // A release waits for the connection; its cancellation only ends the waiting; a dropped guard releases, too.
        for (const int how : {0, 1, 2}) {
            CAPTURE(how);
            auto held = begin_acquire(lock);
            co_await until("connected and held", [&] { return held.ended(); });
            REQUIRE(!held.error());
            auto next = begin_acquire(mutex(other.zk, path));
            co_await until("the next one has a node", [&] { return admin.children(path).size() == 2; });
            co_await client.cut_off();
            pending<> releasing;
            if (how == 2)
                held.value() = guard();
            else
                releasing = begin_release(held.value());
            if (how == 1) {
                releasing.cancel();
                CHECK(co_await releasing.end() == asio::error::operation_aborted);
            }
            CHECK(admin.children(path).size() == 2);
            CHECK_FALSE(next.ended());
            CHECK(releasing.ended() == (how == 1));
            client.link.accept();
            REQUIRE(!co_await next.end());
            if (how == 0)
                CHECK(!co_await releasing.end());
            co_await release_well(next);
            co_await nothing_left(port);
        }

        // While disconnected the session may end: the release is then done, and nobody was told of a loss.
        guard held = must(co_await lock.acquire());
        co_await client.cut_off();
        auto releasing = begin_release(held);
        client.link.expire_session();
        client.link.accept();
        CHECK(!co_await releasing.end());
    });
}
