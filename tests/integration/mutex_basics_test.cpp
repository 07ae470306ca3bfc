// sanitizers: address
// program: public_headers
// What a mutex does when nothing goes wrong: grants in order, who is listed, tries, and what is left behind.
#include "integration/lock_scene.hpp"

using namespace zklock::test;

namespace {

bool named_like_curator(const std::string& node, const std::string& path)
{
    const std::string start = path + "/_c_";
    const std::string middle = "-lock-";
    return node.starts_with(start) && node.size() == start.size() + 36 + middle.size() + 10 &&
           node.compare(node.size() - 10 - middle.size(), middle.size(), middle) == 0 &&
           node.find_first_not_of("0123456789", node.size() - 10) == std::string::npos;
}

} // namespace

TEST_CASE("acquire, release, acquire again")
{
    const std::string path = "/basics/again";
    play<1>({.clean = {path}}, [&](admin_client& admin, client& zk) -> awaitable<void> {
        mutex lock(zk, path);
        std::int64_t last_token = 0;
        for (int i = 0; i < 3; ++i) {
            const auto before = lease_clock::now();
            guard held = must(co_await lock.acquire());
            CHECK(held);
            CHECK(named_like_curator(held.node(), path));
            CHECK(held.held_until() > before);
            CHECK(held.held_until() < lease_clock::now() + 30s);
            CHECK(held.fencing_token() > last_token);
            last_token = held.fencing_token();
            const std::string node = held.node();
            const auto stat = admin.exists(node);
            REQUIRE(stat);
            CHECK(stat->ephemeral_owner == zk.session_id());
            CHECK(held.fencing_token() == stat->czxid * 4096);

            must(co_await std::move(held).release());
            CHECK_FALSE(held);
            CHECK(held.node().empty());
            CHECK(held.fencing_token() == 0);
            CHECK_FALSE(admin.exists(node));
        }
        const auto parent = admin.exists(path);
        REQUIRE(parent);
        CHECK(parent->cversion == 6); // three creates, three deletes
        co_await nothing_left(server().port());

        // Destroyed and assigned over: released in the background.
        {
            const guard dropped = must(co_await lock.acquire());
        }
        guard held = must(co_await lock.acquire());
        held = guard();
    });
}

TEST_CASE("released twice, released when not held, released when lost")
{
    const std::string path = "/basics/not_held";
    play<1>({.clean = {path}}, [&](remote_client& remote) -> awaitable<void> {
        mutex lock(remote.zk, path);
        guard held = must(co_await lock.acquire());
        must(co_await std::move(held).release());
        CHECK(error_in(co_await std::move(held).release()) == errc::not_owner);
        guard empty;
        CHECK(error_in(co_await std::move(empty).release()) == errc::not_owner);
        CHECK(error_in(co_await empty.wait_lost()) == errc::not_owner);

        // A lazy release that is started twice has given its guard away the first time.
        held = must(co_await lock.acquire());
        guard moved = std::move(held);
        CHECK(error_in(co_await std::move(held).release()) == errc::not_owner);
        CHECK(moved);

        // Lost. It stays so, also for the release.
        remote.link.expire_session();
        must(co_await moved.wait_lost());
        CHECK_FALSE(moved);
        CHECK(moved.held_until() == lease_clock::time_point{});
        CHECK(error_in(co_await std::move(moved).release()) == errc::lost);
        CHECK(error_in(co_await std::move(moved).release()) == errc::not_owner);

        // The client goes on with a new session.
        held = must(co_await lock.acquire());
        must(co_await std::move(held).release());
    });
}

TEST_CASE("first come, first served, and listed in that order with their identifiers")
{
    const std::string path = "/basics/order";
    constexpr std::size_t clients = 3;
    constexpr std::size_t waiters = 9;
    play<0>({.clean = {path}}, [&](admin_client& admin, const any_io_executor& executor) -> awaitable<void> {
        std::vector<client> sessions;
        for (std::size_t i = 0; i < clients; ++i)
            sessions.emplace_back(executor, usual_options());

        std::vector<pending<guard>> attempts;
        for (std::size_t i = 0; i < waiters; ++i) {
            mutex_options mine;
            if (i != 0)
                mine.identifier = "waiter " + std::to_string(i);
            attempts.push_back(begin_acquire(mutex(sessions[i % clients], path, mine)));
            co_await until_queued(admin, path, i + 1);
        }

        mutex asking(sessions[1], path);
        const std::vector<contender> listed = must(co_await asking.contenders());
        REQUIRE(listed.size() == waiters);
        std::array<char, 256> host{};
        REQUIRE(::gethostname(host.data(), host.size() - 1) == 0);
        CHECK(listed[0].identifier == std::string(host.data()) + ":" + std::to_string(::getpid()));
        for (std::size_t i = 0; i < waiters; ++i) {
            if (i != 0) {
                CHECK(listed[i].identifier == "waiter " + std::to_string(i));
                CHECK(listed[i].sequence > listed[i - 1].sequence);
                CHECK(listed[i].created >= listed[i - 1].created);
            }
            CHECK(listed[i].session_id == sessions[i % clients].session_id());
            CHECK(listed[i].ours == (i % clients == 1));
            const auto age = std::chrono::system_clock::now() - listed[i].created;
            CHECK(age > -1s);
            CHECK(age < 600s);
        }

        std::int64_t last_token = 0;
        for (std::size_t i = 0; i < waiters; ++i) {
            guard held = co_await granted(attempts[i]);
            for (std::size_t j = i + 1; j < waiters; ++j)
                CHECK_FALSE(attempts[j].ended());
            CHECK(held.node() == listed[i].node);
            CHECK(held.fencing_token() > last_token);
            last_token = held.fencing_token();
            co_await release(std::move(held));
        }
        const auto rest = must(co_await asking.contenders());
        CHECK(rest.empty());
        mutex nowhere(sessions[0], "/basics/nowhere");
        const auto none = must(co_await nowhere.contenders());
        CHECK(none.empty());
        CHECK_FALSE(admin.exists("/basics/nowhere"));
        co_await nothing_left(server().port());
        for (client& zk : sessions)
            must(co_await zk.close());
    });
}

TEST_CASE("calls of one client are served in their order")
{
    const std::string path = "/basics/calls";
    constexpr std::size_t waiters = 60;
    play<0>({.clean = {path}}, [&]() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor, usual_options());
        mutex lock(zk, path);
        std::vector<pending<guard>> attempts;
        for (std::size_t i = 0; i < waiters; ++i)
            attempts.push_back(begin_acquire(lock));
        std::string last_number;
        for (std::size_t i = 0; i < waiters; ++i) {
            guard held = co_await granted(attempts[i]);
            const std::string number = held.node().substr(held.node().size() - 10);
            CHECK(number > last_number);
            last_number = number;
            if (i + 1 < waiters)
                CHECK_FALSE(attempts[i + 1].ended());
            co_await release(std::move(held));
        }
        must(co_await zk.close());
    });
}

TEST_CASE("try_acquire: busy writes nothing, free takes it")
{
    const std::string path = "/basics/try";
    play<0>({.clean = {path}}, [&](const any_io_executor& executor) -> awaitable<void> {
        remote_client trying(executor, server().port());
        client holder(executor, usual_options());
        mutex theirs(holder, path), ours(trying.zk, path);
        CHECK(error_in(co_await ours.try_acquire()) == errc::not_connected); // it has not had the time to connect
        co_await trying.connect();

        guard held = must(co_await theirs.acquire());
        const std::string node = held.node();
        trying.link.forget();
        for (int i = 0; i < 5; ++i)
            CHECK(error_in(co_await ours.try_acquire()) == errc::busy);
        CHECK(trying.link.count(opcode::create2) + trying.link.count(opcode::create) == 0);
        CHECK(trying.link.count(opcode::remove) == 0);
        CHECK(trying.link.count(opcode::multi) == 0);
        co_await until_only_left(server().port(), node);

        // Busy, too, for another contender of the same session: that is seen without a look.
        CHECK(error_in(co_await theirs.try_acquire()) == errc::busy);

        co_await release(std::move(held));
        held = must(co_await ours.try_acquire());
        CHECK(held);
        CHECK(error_in(co_await theirs.try_acquire()) == errc::busy);
        CHECK(error_in(co_await ours.try_acquire()) == errc::busy);
        co_await release(std::move(held));
        co_await nothing_left(server().port());
        co_await trying.close();
        must(co_await holder.close());
    });
}

TEST_CASE("try_acquire while the servers are silent ends with the connection, a short wait by itself")
{
    const std::string path = "/basics/silent";
    play<1>({.sessions = {9s}, .clean = {path}}, [&](remote_client& remote) -> awaitable<void> {
        mutex lock(remote.zk, path);
        guard held = must(co_await lock.acquire());
        co_await release(std::move(held));
        remote.link.block();
        pending<guard> attempt;
        lock.try_acquire(attempt.handler());
        const auto start = steady_clock::now();
        auto brief = begin_acquire(lock, 50ms);
        CHECK(co_await brief.end() == errc::not_connected);
        CHECK(brief.ended_at() - start >= 50ms);
        CHECK(co_await attempt.end() == errc::not_connected);
        CHECK(attempt.ended_at() > brief.ended_at());
        CHECK(remote.zk.state() != connection_state::connected);
        CHECK(error_in(co_await lock.try_acquire()) == errc::not_connected); // at once, now that it is known
        remote.link.unblock();
        co_await take_turn(lock);
    });
}
