// sanitizers: none
// program: requests
// What the operations of a mutex cost in requests to the server, counted on the wire. Pings are not counted; the
// sessions are so long that no heartbeat falls into a test.
#include "integration/requests_scene.hpp"

using namespace zklock::test;

TEST_CASE("alone: a create and the watch of the path together, then only a create each time, and a delete")
{
    const std::string path = "/requests/alone";
    play_counted(path, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        mutex lock(remote.zk, path);
        for (int i = 0; i < 5; ++i) {
            guard held = must(co_await lock.acquire());
            if (i == 0)
                expect_requests(remote.link, {{opcode::create2, 1}, {opcode::get_data, 1}});
            else
                expect_requests(remote.link, {{opcode::create2, 1}});
            co_await release(std::move(held));
            expect_requests(remote.link, {{opcode::remove, 1}});
        }

        // The first two travel together: the one does not wait for the other's answer.
        mutex fresh(remote.zk, "/requests/fresh");
        admin.create_all("/requests/fresh");
        remote.link.block(direction::replies);
        auto attempt = begin_acquire(fresh);
        co_await until("the watch is on its way", [&] { return remote.link.count(opcode::get_data) == 1; });
        CHECK_FALSE(attempt.ended());
        remote.link.unblock();
        guard held = co_await granted(attempt);
        expect_requests(remote.link, {{opcode::create2, 1}, {opcode::get_data, 1}});
        co_await release(std::move(held));
        remote.link.forget();

        // The destructor costs the same.
        held = must(co_await lock.acquire());
        remote.link.forget();
        held = guard();
        co_await nothing_left(server().port());
        expect_requests(remote.link, {{opcode::remove, 1}});
    });
}

TEST_CASE("the first on a path that does not exist makes its parents")
{
    play<1>({.sessions = {120s}, .clean = {"/requests/deep/a/b/c"}}, [&](remote_client& remote) -> awaitable<void> {
        co_await warm_up(remote, elsewhere);
        mutex lock(remote.zk, "/requests/deep/a/b/c");
        guard held = must(co_await lock.acquire());
        // In vain: create and watch. Parents, bottom up until one has a parent, and down again: c, b, a, deep, a, b, c.
        // Then both once more.
        expect_requests(remote.link, {{opcode::create2, 2}, {opcode::get_data, 2}, {opcode::create_container, 7}});
        co_await release(std::move(held));
        expect_requests(remote.link, {{opcode::remove, 1}});

        // Only the first.
        held = must(co_await lock.acquire());
        expect_requests(remote.link, {{opcode::create2, 1}});
        co_await release(std::move(held));
    });
}

TEST_CASE("contended: one watch on the predecessor, one on the own node, and no second read for the grant")
{
    const std::string path = "/requests/contended";
    play_counted(path, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        mutex lock(remote.zk, path);
        const std::string holder = foreign_contender(admin, path);
        auto attempt = begin_acquire(lock);
        co_await until_watched(remote.zk, holder);
        expect_requests(remote.link, {{opcode::create2, 1}, {opcode::get_children2, 1}, {opcode::get_data, 3}});
        const std::string own = path + "/" + queue_of(admin, path).back();
        CHECK(watches_node(server().port(), remote.zk.session_id(), own));

        // Those behind it in the same session cost a create each; nobody but the first needs a watch or a look.
        auto behind = co_await queued(admin, path, 3, begin_acquire(lock));
        auto last = co_await queued(admin, path, 4, begin_acquire(lock));
        CHECK(remote.link.count(opcode::create2) == 2);
        CHECK(remote.link.count(opcode::get_data) == 0);
        CHECK(remote.link.count(opcode::any) == 2);
        remote.link.forget();

        // One that gives up costs its delete.
        last.cancel();
        co_await until_queued(admin, path, 3);
        expect_requests(remote.link, {{opcode::remove, 1}});

        admin.remove(holder);
        guard held = co_await granted(attempt);
        expect_requests(remote.link, {}); // its end is the grant
        auto releasing = begin_release(held);
        held = co_await granted(behind);
        CHECK_FALSE(co_await releasing.end());
        CHECK(remote.link.count(opcode::remove) == 1);
        remote.link.forget();
        co_await release(std::move(held));
        CHECK(remote.link.count(opcode::remove) == 1);
    });
}

TEST_CASE("a waiter that gives up takes its node and its watch with it: two requests")
{
    const std::string path = "/requests/cancelled";
    play_counted(path, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        mutex lock(remote.zk, path);
        const std::string holder = foreign_contender(admin, path);
        auto attempt = begin_acquire(lock);
        co_await until_watched(remote.zk, holder);
        remote.link.forget();
        attempt.cancel();
        co_await until_only_left(server().port(), holder);
        CHECK(remote.link.count(opcode::remove) == 1);
        CHECK(remote.link.count(opcode::any) == 2); // the delete, and the end of the watch
        admin.remove(holder);
    });
}

TEST_CASE("try_acquire: a read when it is busy, nothing when we know; contenders: a read and one for each")
{
    const std::string path = "/requests/try";
    play_counted(path, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        mutex lock(remote.zk, path);
        const std::string holder = foreign_contender(admin, path);
        CHECK(error_in(co_await lock.try_acquire()) == errc::busy);
        expect_requests(remote.link, {{opcode::get_children2, 1}});
        CHECK(error_in(co_await lock.acquire(0s)) == errc::timed_out);
        expect_requests(remote.link, {{opcode::get_children2, 1}});
        admin.remove(holder);

        guard held = must(co_await lock.try_acquire());
        expect_requests(remote.link, {{opcode::create2, 1}, {opcode::get_children2, 1}, {opcode::get_data, 1}});
        CHECK(error_in(co_await lock.try_acquire()) == errc::busy);
        expect_requests(remote.link, {});

        auto waiting = co_await queued(admin, path, 2, begin_acquire(lock));
        remote.link.forget();
        const auto listed = must(co_await lock.contenders());
        CHECK(listed.size() == 2);
        expect_requests(remote.link, {{opcode::get_children2, 1}, {opcode::get_data, 2}});
        waiting.cancel();
        co_await release(std::move(held));
    });
}

TEST_CASE("no herd: of many waiting sessions a release wakes one, and tells the next who is left")
{
    const std::string path = "/requests/herd";
    constexpr std::size_t waiters = 5;
    play<0>({.clean = {path}}, [&](const any_io_executor& executor) -> awaitable<void> {
        admin_client admin(server().port(), 60s);
        admin.create_all(path);
        const std::string holder = foreign_contender(admin, path);
        std::vector<std::unique_ptr<remote_client>> sessions;
        std::vector<pending<guard>> attempts;
        std::string before;
        std::string predecessor = holder;
        for (std::size_t i = 0; i < waiters; ++i) {
            sessions.push_back(std::make_unique<remote_client>(executor, server().port(), 120s));
            co_await warm_up(*sessions[i], elsewhere);
            attempts.push_back(begin_acquire(mutex(sessions[i]->zk, path)));
            co_await until_watched(sessions[i]->zk, predecessor);
            if (!before.empty())
                co_await until_watched(sessions[i]->zk, before); // it looks ahead
            before = predecessor;
            predecessor = path + "/" + queue_of(admin, path).back();
            // Watches: of the path, which it uses for the first time, its own node, and the nearest two before that.
            expect_requests(sessions[i]->link,
                            {{opcode::create2, 1}, {opcode::get_children2, 1}, {opcode::get_data, i == 0 ? 3U : 4U}});
        }
        admin.remove(holder);
        guard held = co_await granted(attempts[0]);
        co_await release(std::move(held));
        held = co_await granted(attempts[1]);
        // The third saw the first one go: it reads who is still before it, while the second holds.
        co_await until("the third has looked", [&] { return sessions[2]->link.count(opcode::get_children2) == 1; });
        expect_requests(sessions[2]->link, {{opcode::get_children2, 1}});
        for (std::size_t i = 3; i < waiters; ++i) {
            CAPTURE(i);
            expect_requests(sessions[i]->link, {});
            CHECK_FALSE(attempts[i].ended());
        }
        co_await release(std::move(held));
        held = co_await granted(attempts[2]);
        expect_requests(sessions[2]->link, {}); // with its delete it has cost seven, and the watch of the path
        for (std::size_t i = 3; i < waiters; ++i)
            attempts[i].cancel();
        co_await release(std::move(held));
        expect_requests(sessions[2]->link, {{opcode::remove, 1}});
        co_await nothing_left(server().port());
        for (auto& session : sessions)
            co_await session->close();
    });
}

namespace {

/// `count` coroutines acquire and release once each, all at the same time.
awaitable<void> crowd(mutex lock, critical_section& section, std::size_t count)
{
    std::vector<awaitable<void>> visitors;
    for (std::size_t i = 0; i < count; ++i)
        visitors.push_back(visit(lock, section));
    co_await together(std::move(visitors));
}

} // namespace

TEST_CASE("a thousand at once on one path: their creates and deletes travel together")
{
    const std::string path = "/requests/crowd";
    constexpr std::size_t many = 1'000;
    play_counted(path, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        // How many gather depends on how much faster the client is than the server. Here it is, also under a sanitizer.
        remote.link.delay(direction::replies, 50ms);
        critical_section section;
        co_await crowd(mutex(remote.zk, path), section, many);
        CHECK(section.grants == many);
        const auto history = remote.link.history();
        INFO("requests: " << remote.link.count(opcode::any));
        CHECK(remote.link.count(opcode::any) <= 3 * many / 40); // some 57; one by one it would be two for each
        CHECK(remote.link.count(opcode::get_children2) <= 1);
        // Everybody had a node of its own, and nothing was sent twice.
        CHECK(creates(remote.link) == many);
        CHECK(removes(remote.link) == many);
        CHECK(creates_under(admin, path) == static_cast<int>(many));
    });
}

TEST_CASE("two hundred paths at once: a transaction for many of them")
{
    constexpr std::size_t many = 200;
    const std::string above = "/requests/paths";
    play<1>({.sessions = {120s}}, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        std::vector<mutex> locks;
        for (std::size_t i = 0; i < many; ++i) {
            admin.create_all(above + "/" + std::to_string(i));
            locks.emplace_back(remote.zk, above + "/" + std::to_string(i));
        }
        co_await warm_up(remote, elsewhere);
        std::vector<critical_section> sections(many);
        for (const bool first : {true, false}) {
            std::vector<awaitable<void>> visitors;
            for (std::size_t i = 0; i < many; ++i)
                visitors.push_back(visit(locks[i], sections[i]));
            co_await together(std::move(visitors));
            INFO("requests: " << remote.link.count(opcode::any));
            // The first time each path is looked at, and watched from then on.
            CHECK(remote.link.count(opcode::get_data) == (first ? many : 0));
            const std::size_t others = remote.link.count(opcode::any) - remote.link.count(opcode::get_data) -
                                       remote.link.count(opcode::get_children2);
            CHECK(others <= many);
            CHECK(remote.link.count(opcode::get_children2) <= (first ? many : 0));
            remote.link.forget();
        }
    });
}

TEST_CASE("lingering: the next acquire of the client costs nothing, until somebody else queues")
{
    const std::string path = "/requests/linger";
    play_counted(path, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        mutex lock(remote.zk, path, with(&mutex_options::linger, 1h));
        guard held = must(co_await lock.acquire());
        const std::string node = held.node();
        std::int64_t token = held.fencing_token();
        co_await release(std::move(held));
        // The release is over before the watch of the children, by which the node may stay, is on its way.
        co_await until("the read is on its way", [&] { return remote.link.count(opcode::get_children2) == 1; });
        expect_requests(remote.link, {{opcode::create2, 1}, {opcode::get_data, 1}, {opcode::get_children2, 1}});
        co_await until_watched(remote.zk, path);
        for (int i = 0; i < 100; ++i) {
            held = must(co_await lock.acquire());
            CHECK(held.node() == node);
            CHECK(held.fencing_token() == token + 1);
            token = held.fencing_token();
            co_await release(std::move(held));
        }
        expect_requests(remote.link, {});
        held = must(co_await lock.try_acquire());
        token = held.fencing_token();
        co_await release(std::move(held));
        expect_requests(remote.link, {});

        // Another client queues: the node goes, and the next acquire has one of its own, behind.
        const std::string other = foreign_contender(admin, path);
        co_await until_only_left(server().port(), other);
        expect_requests(remote.link, {{opcode::remove, 1}});
        auto waiting = co_await queued(admin, path, 2, begin_acquire(lock));
        CHECK_FALSE(waiting.ended());
        admin.remove(other);
        held = co_await granted(waiting);
        CHECK(held.node() != node);
        CHECK(held.fencing_token() > token);
        co_await release(std::move(held));
        const auto others = with(&mutex_options::linger, 2h);
        CHECK(error_in(co_await mutex(remote.zk, path, others).acquire(1s)) == errc::invalid_option);
        co_await remote.close(); // with the node, which lingers
    });
}

TEST_CASE("a cohort: one node for many turns, then the others have theirs")
{
    const std::string path = "/requests/cohort";
    play_counted(path, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        auto options = with(&mutex_options::cohort, 50);
        critical_section section;
        co_await crowd(mutex(remote.zk, path, options), section, 200);
        CHECK(section.grants == 200);
        CHECK(creates_under(admin, path) == 4);
        options.cohort = 0;
        CHECK(error_in(co_await mutex(remote.zk, path, options).acquire()) == errc::invalid_option);
        options.cohort = 4'097;
        CHECK(error_in(co_await mutex(remote.zk, path, options).acquire()) == errc::invalid_option);
        options.cohort = 1;
        options.linger = -1ms;
        CHECK(error_in(co_await mutex(remote.zk, path, options).acquire()) == errc::invalid_option);
    });
}
