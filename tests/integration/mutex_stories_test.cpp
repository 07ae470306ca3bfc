// time limit: 900 s
// program: mutexes
// The stories the library is drawn from: three clients queue on an ensemble and leave by both ways, and what happens
// to the lock's parent.
#include "integration/recipe_scene.hpp"

using namespace zklock::test;

namespace {

constexpr milliseconds short_session{6'000};

/// A, B and C queue, each on a server of its own; the first to hold is another process, which is killed. Then a holder
/// is cut off from the world, and at last they release as they should.
void tell_the_story(std::size_t members)
{
    zookeeper_ensemble ensemble(members);
    const std::string path = "/stories/ensemble";
    const auto story = [&](const any_io_executor& executor) -> awaitable<void> {
        admin_client admin(ensemble[ensemble.leader()].port(), 60s);
        played_process a("a process that holds a lock until it is killed",
                         std::vector<std::string>{"ZKLOCK_SERVERS=" + ensemble.address(), "ZKLOCK_PATH=" + path});
        co_await until_queued(admin, path, 1);
        const std::string a_node = path + "/" + queue_of(admin, path).front();
        CHECK(admin.get(a_node).starts_with("A"));

        remote_client b(executor, ensemble[0].port(), short_session);
        co_await b.connect();
        auto b_turn = co_await queued(admin, path, 2, begin_acquire(mutex(b.zk, path)));
        client c(executor, fault_options(ensemble[1].address(), milliseconds{30'000}));
        mutex c_lock(c, path);
        auto c_turn = co_await queued(admin, path, 3, begin_acquire(c_lock));
        const auto listed = must(co_await c_lock.contenders());
        REQUIRE(listed.size() == 3);
        CHECK(listed[0].node == a_node);
        CHECK(listed[0].identifier == "A");
        CHECK(listed[1].session_id == b.zk.session_id());
        CHECK(listed[2].ours);

        // The holder crashes: the lock is free when its session is over.
        CHECK(a.running());
        a.kill();
        guard b_guard = co_await granted(b_turn);
        CHECK(b_guard.node() == listed[1].node);
        admin.sync(path); // its server may be behind
        CHECK_FALSE(admin.exists(a_node));
        CHECK_FALSE(c_turn.ended());

        // The next one loses the network: it is told before C has the lock.
        auto b_lost = begin_wait_lost(b_guard);
        b.link.block();
        CHECK_FALSE(co_await b_lost.end());
        CHECK_FALSE(b_guard);
        CHECK_FALSE(c_turn.ended());
        guard c_guard = co_await granted(c_turn);
        CHECK(c_guard.node() == listed[2].node);
        CHECK(c_guard.fencing_token() > b_guard.fencing_token());
        CHECK(b_lost.ended_at() < c_turn.ended_at());
        b.link.unblock();

        // Back again, B queues behind C, and is served when C releases.
        auto again = co_await queued(admin, path, 2, begin_acquire(mutex(b.zk, path)));
        CHECK_FALSE(again.ended());
        co_await release(std::move(c_guard));
        co_await take_turn(again);

        // All by releases: three on the followers and the leader, first come, first served.
        std::vector<client> sessions;
        std::vector<pending<guard>> turns;
        for (std::size_t i = 0; i < 3; ++i) {
            sessions.emplace_back(executor, fault_options(ensemble[(i + 1) % members].address(), milliseconds{30'000}));
            turns.push_back(begin_acquire(mutex(sessions.back(), path)));
            co_await until_queued(admin, path, i + 1);
        }
        for (std::size_t i = 0; i < 3; ++i) {
            guard held = co_await granted(turns[i]);
            for (std::size_t j = i + 1; j < 3; ++j)
                CHECK_FALSE(turns[j].ended());
            co_await release(std::move(held));
        }
        for (std::size_t i = 0; i < members; ++i)
            co_await nothing_left(ensemble[i].port());
        for (client& zk : sessions)
            must(co_await zk.close());
        must(co_await c.close());
        co_await b.close();
    };
    run_test(test_limit, story);
    expect_clean(ensemble, {path});
}

} // namespace

TEST_CASE("a process that holds a lock until it is killed" * doctest::skip())
{
    const auto body = []() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor,
                  fault_options(played_process::argument("ZKLOCK_SERVERS"), short_session));
        mutex lock(zk, played_process::argument("ZKLOCK_PATH"), with(&mutex_options::identifier, "A"));
        const guard held = must(co_await lock.acquire());
        const result<void> lost = co_await held.wait_lost(); // nobody will tell
        CHECK(lost.has_error());
    };
    run_test(test_limit, body);
}

TEST_CASE("A, B and C on three servers")
{
    tell_the_story(3);
}

TEST_CASE("A, B and C on five servers")
{
    tell_the_story(5);
}

TEST_CASE("a predecessor that goes before it can be watched, or before it can be seen")
{
    const std::string path = "/stories/gone";
    struct when {
        opcode op;
        moment at;
        std::size_t skip = 0;
    };
    constexpr std::array moments{
        when{opcode::create2, moment::request},       when{opcode::create2, moment::reply},
        when{opcode::get_children2, moment::request}, when{opcode::get_children2, moment::reply},
        when{opcode::get_data, moment::request},      when{opcode::get_data, moment::reply}, // of the path itself
        when{opcode::get_data, moment::request, 1},   when{opcode::get_data, moment::reply, 1},
        when{opcode::get_data, moment::request, 2},   when{opcode::get_data, moment::reply, 2}};
    play<0>({.clean = {path}}, [&](const any_io_executor& executor) -> awaitable<void> {
        admin_client admin(server().port(), 60s);
        admin.create_all(path);
        for (const auto& [op, at, skip] : moments) {
            CAPTURE(static_cast<int>(op));
            CAPTURE(static_cast<int>(at));
            remote_client remote(executor, server().port());
            co_await remote.connect();
            mutex lock(remote.zk, path);
            const auto earlier = foreign_contender(admin, path), holder = foreign_contender(admin, path);
            remote.link.on_next(op, at, fate::hold, skip);
            auto attempt = begin_acquire(lock);
            co_await until_asked(remote.link, op, skip + 1);
            remote.link.wait_struck();
            admin.remove(holder);
            remote.link.release();
            co_await until_watched(remote.zk, earlier); // the one before the predecessor
            CHECK_FALSE(attempt.ended());

            admin.remove(earlier);
            co_await take_turn(attempt);
            co_await nothing_left(server().port());
            co_await remote.close();
        }
    });
}

TEST_CASE("missing parents are made, by many at once, and made again")
{
    const auto story = [&](admin_client& admin, client& zk, client& other) -> awaitable<void> {
        // Both find the parents missing at once, and several contenders of each.
        std::vector<pending<guard>> attempts;
        for (int i = 0; i < 6; ++i)
            attempts.push_back(begin_acquire(mutex(i % 2 == 0 ? zk : other, "/stories/parents/a/b/c")));
        std::size_t grants = 0;
        while (grants < attempts.size()) {
            const auto ready = [&] {
                return std::any_of(attempts.begin(), attempts.end(), [](auto& p) { return p.ended() && p.value(); });
            };
            co_await until("one of them has it", ready);
            std::size_t holders = 0;
            for (auto& attempt : attempts)
                if (attempt.ended() && attempt.value()) {
                    ++holders;
                    co_await release(attempt.value());
                    break;
                }
            grants += holders;
        }

        mutex lock(zk, "/stories/parents_deleted/a/b");
        co_await take_turn(lock);

        // Somebody deletes the parent while nobody needs it.
        admin.remove_all("/stories/parents_deleted");
        co_await take_turn(lock);
    };
    play<2>({.clean = {"/stories/parents/a/b/c", "/stories/parents_deleted/a/b"}}, story);
}

TEST_CASE("parents are containers, which the server deletes again and again, or persistent if one likes")
{
    const std::string path = "/stories/containers/deep";
    const std::string lasting_path = "/stories/persistent/deep";
    zookeeper_server cleaner(with(&server_options::container_check_interval, milliseconds{20}));
    const auto body = [&](const any_io_executor& executor) -> awaitable<void> {
        admin_client admin(cleaner.port());
        client zk(executor, fault_options(cleaner.address(), milliseconds{30'000}));
        mutex lasting_lock(zk, lasting_path, with(&mutex_options::parents, parent_kind::persistent));
        co_await take_turn(lasting_lock, 60s);

        mutex lock(zk, path);
        std::int64_t last_token = 0;
        std::size_t deletions = 0;
        for (int i = 0; i < 200; ++i) {
            guard held = must(co_await lock.acquire(60s));
            CHECK(held.fencing_token() > last_token); // although the numbers begin again with each new parent
            last_token = held.fencing_token();
            co_await release(std::move(held));
            if (i % 20 != 0)
                continue;
            const auto gone = [&] { return !admin.exists(path); };
            co_await until("the server deleted the container", gone);
            ++deletions;
        }
        CHECK(deletions == 10);
        CHECK(admin.exists(lasting_path)); // it has been empty for longer than any of those that are gone
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    expect_clean(cleaner, {path, lasting_path});
}
