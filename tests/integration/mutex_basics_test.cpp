// What a mutex does when nothing goes wrong: exclusion, order, who is listed, and what is left behind.
#include "integration/lock_scene.hpp"
#include "support/one_server.hpp"

#include <boost/asio/post.hpp>

#include <unistd.h>

#include <array>
#include <future>

using namespace zklock;
using namespace zklock::test;

namespace {

client_options options()
{
    return fault_options(server().address(), milliseconds{30'000});
}

bool named_like_curator(const std::string& node, const std::string& path)
{
    const std::string start = path + "/_c_";
    const std::string middle = "-lock-";
    return node.starts_with(start) && node.size() == start.size() + 36 + middle.size() + 10
        && node.compare(node.size() - 10 - middle.size(), middle.size(), middle) == 0
        && node.find_first_not_of("0123456789", node.size() - 10) == std::string::npos;
}

awaitable<void> visit_often(mutex lock, critical_section& section, std::size_t rounds)
{
    for (std::size_t i = 0; i < rounds; ++i)
        co_await visit(lock, section);
}

} // namespace

TEST_CASE("acquire, release, acquire again")
{
    const std::string path = "/basics/again";
    const auto body = [&]() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor, options());
        mutex lock(zk, path);
        admin_client admin(server().port());
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
        co_await nothing_left(server().port());
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    expect_clean(server(), {path});
}

TEST_CASE("released twice, released when not held, released when lost")
{
    const std::string path = "/basics/not_held";
    const auto body = [&]() -> awaitable<void> {
        remote_client remote(co_await asio::this_coro::executor, server().port());
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
        co_await nothing_left(server().port());
        co_await remote.close();
    };
    run_test(test_limit, body);
    expect_clean(server(), {path});
}

TEST_CASE("never two inside: several sessions on one thread")
{
    const std::string path = "/basics/sessions";
    constexpr std::size_t clients = 5;
    constexpr std::size_t contenders = 3;
    const std::size_t rounds = scaled(25);
    critical_section section;
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        std::vector<client> sessions;
        std::vector<awaitable<void>> visitors;
        for (std::size_t i = 0; i < clients; ++i) {
            sessions.emplace_back(executor, options());
            mutex lock(sessions.back(), path);
            for (std::size_t j = 0; j < contenders; ++j)
                visitors.push_back(visit_often(lock, section, rounds));
        }
        co_await together(std::move(visitors));
        co_await nothing_left(server().port());
        for (client& zk : sessions)
            must(co_await zk.close());
    };
    run_test(test_limit, body);
    CHECK(section.grants == static_cast<int>(clients * contenders * rounds));
    expect_clean(server(), {path});
}

namespace {

/// As critical_section, for visitors on several threads.
class shared_section {
public:
    void enter(const guard& held)
    {
        if (inside_.exchange(true))
            broken_promise("two inside");
        if (held.fencing_token() <= last_token_.exchange(held.fencing_token()))
            broken_promise("a token that does not grow");
        ++grants_;
    }
    void leave() { inside_ = false; }
    [[nodiscard]] std::size_t grants() const { return grants_; }

private:
    std::atomic<bool> inside_{false};
    std::atomic<std::int64_t> last_token_{0};
    std::atomic<std::size_t> grants_{0};
};

awaitable<void> visit_shared(mutex lock, shared_section& section, std::size_t rounds)
{
    for (std::size_t i = 0; i < rounds; ++i) {
        guard held = must(co_await lock.acquire(60s));
        section.enter(held);
        // So that others get a chance to be wrong meanwhile.
        const auto executor = co_await asio::this_coro::executor;
        co_await asio::post(executor, asio::use_awaitable);
        section.leave();
        must(co_await std::move(held).release());
    }
}

} // namespace

TEST_CASE("never two inside: a session per thread")
{
    const std::string path = "/basics/threads";
    constexpr std::size_t threads = 4;
    const std::size_t rounds = scaled(40);
    shared_section section;
    std::vector<std::future<void>> ends;
    for (std::size_t i = 0; i < threads; ++i)
        ends.push_back(std::async(std::launch::async, [&] {
            const auto body = [&]() -> awaitable<void> {
                client zk(co_await asio::this_coro::executor, options());
                mutex lock(zk, path);
                co_await visit_shared(lock, section, rounds);
                must(co_await zk.close());
            };
            run_test(test_limit, body);
        }));
    for (auto& end : ends)
        end.get();
    CHECK(section.grants() == threads * rounds);
    expect_clean(server(), {path});
}

TEST_CASE("never two inside: one session on several threads")
{
    const std::string path = "/basics/pool";
    constexpr std::size_t contenders = 6;
    const std::size_t rounds = scaled(40);
    shared_section section;
    const auto body = [&]() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor, options());
        std::vector<awaitable<void>> visitors;
        for (std::size_t i = 0; i < contenders; ++i)
            visitors.push_back(visit_shared(mutex(zk, path), section, rounds));
        co_await together(std::move(visitors));
        must(co_await zk.close());
    };
    run_test_on_threads(3, test_limit, body);
    CHECK(section.grants() == contenders * rounds);
    expect_clean(server(), {path});
}

TEST_CASE("first come, first served, and listed in that order with their identifiers")
{
    const std::string path = "/basics/order";
    constexpr std::size_t clients = 3;
    constexpr std::size_t waiters = 9;
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        admin_client admin(server().port());
        std::vector<client> sessions;
        for (std::size_t i = 0; i < clients; ++i)
            sessions.emplace_back(executor, options());

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
    };
    run_test(test_limit, body);
    expect_clean(server(), {path});
}

TEST_CASE("calls of one client are served in their order")
{
    const std::string path = "/basics/calls";
    constexpr std::size_t waiters = 60;
    const auto body = [&]() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor, options());
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
    };
    run_test(test_limit, body);
    expect_clean(server(), {path});
}

TEST_CASE("try_acquire: busy writes nothing, free takes it")
{
    const std::string path = "/basics/try";
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        remote_client trying(executor, server().port());
        client holder(executor, options());
        mutex theirs(holder, path);
        mutex ours(trying.zk, path);
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
    };
    run_test(test_limit, body);
    expect_clean(server(), {path});
}

TEST_CASE("try_acquire while the servers are silent ends with the connection, a short wait by itself")
{
    const std::string path = "/basics/silent";
    const auto body = [&]() -> awaitable<void> {
        remote_client remote(co_await asio::this_coro::executor, server().port(), 9s);
        co_await remote.connect();
        mutex lock(remote.zk, path);
        guard held = must(co_await lock.acquire());
        co_await release(std::move(held));
        remote.link.block();
        pending<guard> attempt;
        lock.try_acquire(attempt.handler());
        const auto start = steady_clock::now();
        auto brief = begin_acquire(lock, 50ms);
        CHECK(co_await brief.end() == errc::timed_out);
        CHECK(brief.ended_at() - start >= 50ms);
        CHECK(co_await attempt.end() == errc::not_connected);
        CHECK(attempt.ended_at() > brief.ended_at());
        CHECK(remote.zk.state() != connection_state::connected);
        CHECK(error_in(co_await lock.try_acquire()) == errc::not_connected); // at once, now that it is known
        remote.link.unblock();
        held = must(co_await lock.acquire());
        co_await release(std::move(held));
        co_await nothing_left(server().port());
        co_await remote.close();
    };
    run_test(test_limit, body);
    expect_clean(server(), {path});
}

TEST_CASE("many sessions try at once and one wins")
{
    constexpr std::size_t tries = 8;
    const std::size_t rounds = scaled(15);
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        std::vector<client> sessions;
        for (std::size_t i = 0; i < tries; ++i)
            sessions.emplace_back(executor, options());
        for (client& zk : sessions)
            must(co_await zk.wait_connected(60s));
        for (std::size_t round = 0; round < rounds; ++round) {
            const std::string path = "/basics/race/" + std::to_string(round);
            std::vector<pending<guard>> attempts(tries);
            for (std::size_t i = 0; i < tries; ++i)
                mutex(sessions[i], path).try_acquire(attempts[i].handler());
            std::vector<guard> winners;
            for (auto& attempt : attempts) {
                const error_code ec = co_await attempt.end();
                if (!ec)
                    winners.push_back(std::move(attempt.value()));
                else
                    CHECK(ec == errc::busy);
            }
            REQUIRE(winners.size() == 1);
            co_await until_only_left(server().port(), winners[0].node());
            co_await release(std::move(winners[0]));
        }
        co_await nothing_left(server().port());
        for (client& zk : sessions)
            must(co_await zk.close());
    };
    run_test(test_limit, body);
    expect_clean(server());
}

TEST_CASE("two mutexes on one path in one session exclude each other, and so does one with itself")
{
    const std::string path = "/basics/same";
    const auto body = [&]() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor, options());
        mutex one(zk, path);
        mutex other(zk, path);
        CHECK(one.path() == path);
        guard first = must(co_await one.acquire());
        auto second = begin_acquire(other);
        auto third = begin_acquire(one);
        CHECK(error_in(co_await one.acquire(100ms)) == errc::timed_out);
        CHECK_FALSE(second.ended());
        const std::string node = first.node();
        co_await release(std::move(first));
        guard held = co_await granted(second);
        CHECK(held.node() != node);
        CHECK_FALSE(third.ended());
        co_await release(std::move(held));
        held = co_await granted(third);
        co_await release(std::move(held));

        // Different paths do not concern each other, also where one is below the other.
        mutex below(zk, path + "/below");
        held = must(co_await one.acquire());
        const guard inner = must(co_await below.acquire(60s));
        CHECK(held);
        CHECK(inner);
        CHECK(error_in(co_await one.try_acquire()) == errc::busy);
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    expect_clean(server(), {path + "/below"});
}
