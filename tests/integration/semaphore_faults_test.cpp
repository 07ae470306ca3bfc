// sanitizers: address
// program: semaphores
// semaphore: cancellations, deadlines, lost connections, expired sessions, and others who delete what is ours.
#include "integration/semaphore_scene.hpp"

using namespace zklock;
using namespace zklock::test;

namespace {

pending<permits> begin(semaphore gate, std::size_t count, milliseconds timeout)
{
    pending<permits> p;
    gate.permits_of(count).acquire(timeout, p.handler());
    return p;
}
using zklock::test::begin;

} // namespace

TEST_CASE("cancelled or out of time at the head and in the line: nothing is left, and who comes next is served")
{
    const std::string path = "/semaphore/cancelled";
    const auto story = [&](admin_client& admin, remote_client& remote, remote_client& other) -> awaitable<void> {
        semaphore gate(remote.zk, path, 2);
        semaphore same(other.zk, path, 2);
        for (const auto type : cancellation_types) {
            permits held = must(co_await gate.acquire());
            auto head = begin(same, 2);
            co_await until_permits(admin, path, 3);
            auto behind = begin(same, 2);
            auto last = begin(gate, 1);
            co_await until_queued(admin, path + "/locks", 3);
            behind.cancel(type);
            CHECK(co_await behind.end() == asio::error::operation_aborted);
            head.cancel(type);
            CHECK(co_await head.end() == asio::error::operation_aborted);
            permits got = co_await granted(last); // it wanted the one that was free
            co_await until_permits(admin, path, 2);

            auto late = begin(same, 1, 50ms); // at the head
            auto late_too = begin(same, 1, 60ms);
            CHECK(co_await late.end() == condition::not_in_time);
            CHECK(co_await late_too.end() == condition::not_in_time);
            co_await until_permits(admin, path, 2);
            co_await release(std::move(got));
            co_await release(std::move(held));
            co_await no_permit_left(server().port(), path);
        }

        // At once, while the first request is on its way.
        auto at_once = begin(gate, 2);
        at_once.cancel();
        CHECK(co_await at_once.end() == asio::error::operation_aborted);
        // And while the nodes are being made.
        remote.link.on_next(opcode::multi, moment::reply, fate::hold);
        auto making = begin(gate, 2);
        co_await until("the nodes are made", [&] { return remote.link.struck(); });
        making.cancel();
        CHECK(co_await making.end() == asio::error::operation_aborted);
        remote.link.release();
        co_await no_permit_left(server().port(), path);
        permits all = must(co_await same.permits_of(2).acquire());
        co_await release(std::move(all));
    };
    play<2>({.sessions = {120s, 120s}, .clean = {path + "/locks", path + "/leases"}}, story);
}

TEST_CASE("an acquire survives a cut at every request of it, and makes no node twice")
{
    struct place {
        opcode op;
        std::size_t skip;
    };
    // The lock of the line is a create of its own; then a permit's node or a batch of them, the list, and the lock
    // back.
    const std::vector<place> of_one{
        {opcode::create2, 0}, {opcode::create2, 1}, {opcode::get_children2, 0}, {opcode::remove, 0}};
    const std::vector<place> of_two{{opcode::multi, 0}, {opcode::get_children2, 0}};
    const std::string path = "/semaphore/cut";
    const auto body = [&]() -> awaitable<void> {
        admin_client admin(server().port());
        admin.create_all(path + "/locks");
        admin.create_all(path + "/leases");
        const std::array<std::size_t, 2> counts{1, 2};
        const std::array<moment, 2> moments{moment::request, moment::reply};
        for (const std::size_t count : counts)
            for (const place& p : count == 1 ? of_one : of_two)
                for (const moment at : moments) {
                    remote_client remote(co_await asio::this_coro::executor, server().port());
                    co_await warm_up(remote, "/semaphore/warm");
                    semaphore gate(remote.zk, path, 2);
                    CAPTURE(static_cast<int>(p.op));
                    CAPTURE(p.skip);
                    CAPTURE(static_cast<int>(at));
                    remote.link.on_next(p.op, at, fate::cut, p.skip);
                    auto attempt = begin(gate, count);
                    permits held = co_await granted(attempt);
                    co_await until("the cut was made", [&] { return remote.link.struck(); });
                    co_await until_permits(admin, path, count);
                    CHECK(held.count() == count);
                    remote.link.on_next(count == 1 ? opcode::remove : opcode::multi, at, fate::cut);
                    co_await release(std::move(held));
                    co_await no_permit_left(server().port(), path);
                    co_await remote.close();
                }
    };
    run_test(120s, body);
    expect_clean(server(), {path + "/locks", path + "/leases"});
}

TEST_CASE("a create whose answer was lost, of an acquire that was cancelled, is looked for and deleted")
{
    const std::string path = "/semaphore/orphan";
    const auto story = [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        admin.create_all(path + "/locks");
        admin.create_all(path + "/leases");
        co_await warm_up(remote, "/semaphore/warm");
        semaphore gate(remote.zk, path, 1);
        remote.link.on_next(opcode::create2, moment::reply, fate::hold, 1);
        auto attempt = begin(gate, 1);
        co_await until("the node is made", [&] { return remote.link.struck(); });
        attempt.cancel();
        CHECK(co_await attempt.end() == asio::error::operation_aborted);
        CHECK(admin.children(path + "/leases").size() == 1);
        remote.link.refuse();
        remote.link.cut();
        co_await remote.suspended();
        remote.link.accept();
        co_await no_permit_left(server().port(), path);
        permits held = must(co_await gate.acquire());
        co_await release(std::move(held));
        co_await no_permit_left(server().port(), path);
    };
    play<1>({.clean = {path + "/locks", path + "/leases"}}, story);
}

TEST_CASE("the session ends: holders are told, their permits are free, and whoever waited queues again")
{
    const std::string path = "/semaphore/expired";
    const auto story = [&](admin_client& admin, remote_client& remote, remote_client& other) -> awaitable<void> {
        semaphore gate(remote.zk, path, 2);
        semaphore same(other.zk, path, 2);
        permits held = must(co_await gate.permits_of(2).acquire());
        auto lost = begin_wait_lost(held);
        auto head = begin(same, 1);
        co_await until_permits(admin, path, 3);
        auto behind = begin(same, 1);
        auto ours = begin(gate, 1);
        co_await until_queued(admin, path + "/locks", 3);
        other.link.expire_session(); // of those who wait
        co_await until("the other has a new session", [&] { return other.link.sessions().size() == 2; });
        CHECK(held);
        remote.link.expire_session(); // of the holder
        CHECK_FALSE(co_await lost.end());
        CHECK_FALSE(held);
        CHECK(error_in(co_await held.release(1)) == errc::lost);
        CHECK(error_in(co_await std::move(held).release()) == errc::lost);

        // Two of the three have what they wanted.
        std::array<pending<permits>*, 3> all{&head, &behind, &ours};
        const auto ended = [&all] { return std::count_if(all.begin(), all.end(), [](auto* p) { return p->ended(); }); };
        co_await until("two are granted", [&ended] { return ended() == 2; });
        for (auto* attempt : all)
            if (attempt->ended()) {
                CHECK_FALSE(attempt->error());
                co_await release(std::move(attempt->value()));
            }
        co_await until("the third is granted", [&ended] { return ended() == 3; });
        head.value() = permits();
        behind.value() = permits();
        ours.value() = permits();
        co_await no_permit_left(server().port(), path);

        // The client is closed: what waits ends, what is held is lost.
        held = must(co_await gate.permits_of(2).acquire());
        auto waits = begin(gate, 1);
        co_await until_permits(admin, path, 3);
        co_await remote.close();
        CHECK(co_await waits.end() == errc::closed);
        CHECK_FALSE(held);
        CHECK(error_in(co_await std::move(held).release()) == errc::lost);
    };
    play<2>({.clean = {path + "/locks", path + "/leases"}}, story);
}

TEST_CASE("others delete nodes: of a holder, of the head of the line, and all of them with their parent")
{
    const std::string path = "/semaphore/deleted";
    const auto story = [&](admin_client& admin, remote_client& remote, remote_client& other) -> awaitable<void> {
        semaphore gate(remote.zk, path, 2);
        semaphore same(other.zk, path, 2);
        permits held = must(co_await gate.permits_of(2).acquire());
        auto lost = begin_wait_lost(held);
        auto head = begin(same, 2);
        co_await until_permits(admin, path, 4);
        const auto holders = must(co_await gate.holders());
        for (const contender& c : holders)
            if (!c.ours) {
                admin.remove(c.node);
                break;
            }
        co_await until_permits(admin, path, 4); // it has made them again
        CHECK_FALSE(head.ended());
        const auto watched = [&] { return watches_node(server().port(), remote.zk.session_id(), held.node()); };
        co_await until("the holder watches its node", watched);
        admin.remove(held.node());
        CHECK_FALSE(co_await lost.end());
        permits theirs = co_await granted(head); // the holder has given the rest back
        auto theirs_lost = begin_wait_lost(theirs);
        const auto watched_too = [&] { return watches_node(server().port(), other.zk.session_id(), theirs.node()); };
        co_await until("the new holder watches its node", watched_too);
        admin.remove_all(path + "/leases");
        CHECK_FALSE(co_await theirs_lost.end());
        held = must(co_await gate.permits_of(2).acquire()); // the parent is made again
        co_await release(std::move(held));
        co_await no_permit_left(server().port(), path);
    };
    play<2>({.sessions = {120s, 120s}, .clean = {path + "/locks", path + "/leases"}}, story);
}

TEST_CASE("others had deleted the node of a permit before its release, which says so")
{
    const std::string path = "/semaphore/deleted_before";
    const auto story = [&](admin_client& admin, remote_client& remote, remote_client& other) -> awaitable<void> {
        semaphore gate(remote.zk, path, 1);
        permits held = must(co_await gate.acquire());
        remote.link.block(direction::replies);
        REQUIRE(admin.remove(held.node()));
        semaphore same(other.zk, path, 1);
        permits between = must(co_await same.acquire());
        remote.link.forget();
        pending<> releasing;
        std::move(held).release(releasing.handler());
        co_await until("the delete is on its way", [&] { return remote.link.count(opcode::remove) == 1; });
        CHECK_FALSE(releasing.ended());
        remote.link.unblock();
        CHECK(co_await releasing.end() == errc::lost);
        co_await release(std::move(between));
        co_await no_permit_left(server().port(), path);
    };
    play<2>({.sessions = {120s, 120s}, .clean = {path + "/locks", path + "/leases"}}, story);
}

TEST_CASE("with a limit on its attempts an acquire of permits says what used them up")
{
    const std::string path = "/semaphore/attempts";
    const auto story = [&](admin_client& admin, remote_client& remote, remote_client& other) -> awaitable<void> {
        semaphore gate(remote.zk, path, 1);
        semaphore_options once;
        once.permits = 1;
        once.max_attempts = 1;
        semaphore same(other.zk, path, once);
        permits held = must(co_await gate.acquire());

        auto at_head = begin(same, 1);
        co_await until_permits(admin, path, 2);
        for (const contender& c : must(co_await gate.holders()))
            if (!c.ours)
                REQUIRE(admin.remove(c.node));
        CHECK(co_await at_head.end() == errc::lost);

        auto before = begin(gate, 1);
        co_await until_permits(admin, path, 2);
        auto in_line = begin(same, 1);
        co_await until_queued(admin, path + "/locks", 2);
        REQUIRE(admin.remove(path + "/locks/" + queue_of(admin, path + "/locks").back()));
        CHECK(co_await in_line.end() == errc::lost);
        before.cancel();
        CHECK(co_await before.end() == asio::error::operation_aborted);

        for (const std::size_t skip : {0, 1}) { // the creates in the line, and of the permit
            other.link.on_next(opcode::create2, moment::request, fate::cut, skip);
            auto cut_off = begin(same, 1);
            CHECK(co_await cut_off.end() == errc::not_connected);
            co_await until_permits(admin, path, 1);
        }

        auto expired = begin(same, 1);
        co_await until_permits(admin, path, 2);
        other.link.expire_session();
        CHECK(co_await expired.end() == errc::session_expired);
        co_await release(std::move(held));
        co_await no_permit_left(server().port(), path);
    };
    play<2>({.sessions = {120s, 120s}, .clean = {path + "/locks", path + "/leases"}}, story);
}

TEST_CASE("two clients, many coroutines: never more than there are")
{
    for (const naming names : {naming::curator, naming::kazoo}) {
        const std::string path = names == naming::kazoo ? "/semaphore/many_kazoo" : "/semaphore/many";
        const auto body = [&]() -> awaitable<void> {
            remote_client remote(co_await asio::this_coro::executor, server().port(), 120s);
            remote_client other(co_await asio::this_coro::executor, server().port(), 120s);
            semaphore_options options;
            options.permits = 4;
            options.names = names;
            semaphore gate(remote.zk, path, options);
            semaphore same(other.zk, path, options);
            std::size_t inside = 0;
            int grants = 0;
            auto visits = [&](semaphore where, std::size_t count) -> awaitable<void> {
                for (int i = 0; i < 5; ++i) {
                    permits held = must(co_await where.permits_of(count).acquire(60s));
                    inside += held.count();
                    ++grants;
                    if (inside > 4)
                        broken_promise("more permits than there are");
                    asio::steady_timer turn(co_await asio::this_coro::executor, milliseconds{1});
                    co_await turn.async_wait(asio::use_awaitable);
                    inside -= held.count();
                    co_await release(std::move(held));
                }
            };
            std::vector<awaitable<void>> all;
            for (std::size_t i = 0; i < 12; ++i)
                all.push_back(visits(i % 2 == 0 ? gate : same, 1 + i % 3));
            co_await together(std::move(all));
            CHECK(grants == 60);
            co_await no_permit_left(server().port(), path);
            co_await remote.close();
            co_await other.close();
        };
        run_test(120s, body);
    }
    expect_clean(server(), {"/semaphore/many/locks", "/semaphore/many/leases", "/semaphore/many_kazoo",
                            "/semaphore/many_kazoo-__lock__"});
}
