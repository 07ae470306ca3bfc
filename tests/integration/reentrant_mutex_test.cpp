// sanitizers: address
// program: recipes
// reentrant_mutex: one owner, several holds, one node.
#include "integration/recipe_scene.hpp"

#include <boost/asio/deferred.hpp>
#include <boost/asio/strand.hpp>

using namespace zklock::test;

TEST_CASE("holds are counted: no request for a further one, one node and one token, free with the last")
{
    const std::string path = "/reentrant/counted";
    play<1>({.sessions = {120s}, .clean = {path}}, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        co_await warm_up(remote, path);
        reentrant_mutex lock(remote.zk, path);
        reentrant_mutex same(remote.zk, path); // another object, the same lock
        mutex plain(remote.zk, path);
        const lock_owner me, other;
        CHECK(me != other);
        CHECK(lock.hold_count(me) == 0);

        guard first = must(co_await lock.owned_by(me).acquire());
        CHECK(creates(remote.link) == 1);
        remote.link.forget();
        guard second = must(co_await same.owned_by(me).acquire(5s));
        guard third = must(co_await lock.owned_by(me).try_acquire());
        guard fourth = must(co_await lock.owned_by(me).acquire(0s)); // looks once, and may
        CHECK(requests(remote.link) == 0);
        CHECK(lock.hold_count(me) == 4);
        CHECK(same.hold_count(me) == 4);
        CHECK(lock.hold_count(other) == 0);
        const std::array<const guard*, 3> others{&second, &third, &fourth};
        for (const guard* g : others) {
            CHECK(*g);
            CHECK(g->node() == first.node());
            CHECK(g->fencing_token() == first.fencing_token());
            CHECK(g->held_until() == first.held_until());
        }
        CHECK(must(co_await lock.contenders()).size() == 1);

        // It excludes other owners, other mutexes, and other programs; and they see Curator's name.
        CHECK(error_in(co_await lock.owned_by(other).try_acquire()) == errc::busy);
        CHECK(error_in(co_await plain.try_acquire()) == errc::busy);
        CHECK(admin.children(path).size() == 1);
        CHECK(first.node().find("/_c_") != std::string::npos);

        // Released in any order, by release, by the destructor, and on behalf of the owner.
        remote.link.forget();
        must(co_await std::move(first).release());
        second = guard();
        CHECK(error_in(co_await lock.release(other, third)) == errc::not_owner);
        CHECK(third);
        reentrant_mutex elsewhere(remote.zk, path + "_too");
        CHECK(error_in(co_await elsewhere.release(me, third)) == errc::not_owner);
        must(co_await lock.release(me, third));
        CHECK_FALSE(third);
        CHECK(error_in(co_await lock.release(me, third)) == errc::not_owner);
        CHECK(requests(remote.link) == 0);
        CHECK(fourth);
        CHECK(lock.hold_count(me) == 1);
        must(co_await lock.release(me, fourth));
        CHECK(removes(remote.link) == 1);
        CHECK(lock.hold_count(me) == 0);
        co_await nothing_left(server().port());

        guard now_plain = must(co_await plain.acquire());
        CHECK(error_in(co_await lock.release(me, now_plain)) == errc::not_owner);
        CHECK(error_in(co_await lock.owned_by(me).acquire(20ms)) == errc::timed_out);
        must(co_await std::move(now_plain).release());
    });
}

TEST_CASE("an acquire of an owner who waits joins: same grant; each has its own deadline and cancellation")
{
    const std::string path = "/reentrant/joined";
    play<1>({.sessions = {120s}, .clean = {path}}, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        admin.create_all(path);
        co_await warm_up(remote, path);
        reentrant_mutex lock(remote.zk, path);
        const lock_owner me;
        const std::string holder = foreign_contender(admin, path);

        auto first = co_await queued(admin, path, 2, begin_acquire(lock.owned_by(me)));
        auto second = begin_acquire(lock.owned_by(me));
        auto third = begin_acquire(lock.owned_by(me));
        CHECK(error_in(co_await lock.owned_by(me).acquire(10ms)) == condition::not_in_time);
        CHECK(error_in(co_await lock.owned_by(me).try_acquire()) == errc::busy);
        first.cancel(); // he who brought the node: it stays
        CHECK(co_await first.end() == asio::error::operation_aborted);
        CHECK(creates(remote.link) == 1);
        CHECK(queue_of(admin, path).size() == 2);
        admin.remove(holder);
        guard one = co_await granted(second);
        guard two = co_await granted(third);
        CHECK(one.fencing_token() == two.fencing_token());
        CHECK(lock.hold_count(me) == 2);
        one = guard();
        must(co_await std::move(two).release());
        co_await nothing_left(server().port());

        // The last who gives up takes the node along.
        const std::string again = foreign_contender(admin, path);
        first = begin_acquire(lock.owned_by(me));
        second = co_await queued(admin, path, 2, begin_acquire(lock.owned_by(me)));
        second.cancel();
        first.cancel();
        co_await until_only_left(server().port(), again);
        admin.remove(again);

        // Cancelled before it began; and all kinds of cancellation.
        for (const auto type : cancellation_types) {
            auto early = begin_acquire(lock.owned_by(me));
            early.cancel(type);
            CHECK(co_await early.end() == asio::error::operation_aborted);
        }
    });
}

TEST_CASE("lost: never granted again until all lost holds are released")
{
    const std::string path = "/reentrant/lost";
    play<2>({.clean = {path}}, [&](remote_client& remote, remote_client& rival) -> awaitable<void> {
        reentrant_mutex lock(remote.zk, path);
        const lock_owner me;
        guard first = must(co_await lock.owned_by(me).acquire());
        guard second = must(co_await lock.owned_by(me).acquire());
        const auto token = first.fencing_token();
        auto told = begin_wait_lost(first);
        auto told_too = begin_wait_lost(second);
        remote.link.expire_session();
        CHECK_FALSE(co_await told.end());
        CHECK_FALSE(co_await told_too.end());
        CHECK_FALSE(first);
        CHECK_FALSE(second);

        // Somebody else has it by now; and even when he has not any more.
        guard theirs = must(co_await mutex(rival.zk, path).acquire());
        CHECK(error_in(co_await lock.owned_by(me).acquire()) == errc::lost);
        CHECK(error_in(co_await lock.owned_by(me).try_acquire()) == errc::lost);
        CHECK(error_in(co_await lock.owned_by(me).acquire(5s)) == errc::lost);
        must(co_await std::move(theirs).release());
        CHECK(error_in(co_await lock.owned_by(me).acquire()) == errc::lost);
        CHECK(error_in(co_await std::move(first).release()) == errc::lost);
        CHECK(error_in(co_await lock.owned_by(me).acquire()) == errc::lost);
        CHECK(lock.hold_count(me) == 1);
        CHECK(error_in(co_await lock.release(me, second)) == errc::lost);
        CHECK(lock.hold_count(me) == 0);

        first = must(co_await lock.owned_by(me).acquire());
        CHECK(first.fencing_token() > token);
        must(co_await std::move(first).release());
        co_await nothing_left(server().port());

        // The body of a run is cancelled by the loss, too.
        bool stopped = false;
        auto waits = [&](guard&) -> awaitable<void> {
            remote.link.expire_session();
            stopped = co_await sleep_for_ever() == asio::error::operation_aborted;
        };
        result<void> ran = co_await lock.owned_by(me).run(20s, waits);
        CHECK(error_in(ran) == errc::lost);
        CHECK(stopped);

        // The client is closed: what waits ends, what is held is lost.
        theirs = must(co_await mutex(rival.zk, path).acquire());
        auto waiting = begin_acquire(lock.owned_by(me));
        auto joined = begin_acquire(lock.owned_by(me));
        co_await remote.close();
        CHECK(co_await waiting.end() == errc::closed);
        CHECK(co_await joined.end() == errc::closed);
        CHECK(error_in(co_await lock.owned_by(me).acquire()) == errc::closed);
        must(co_await std::move(theirs).release());
    });
}

TEST_CASE("bad input, and every kind of token")
{
    const std::string path = "/reentrant/tokens";
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client zk(executor, fault_options(server().address(), long_session));
        const lock_owner me;
        reentrant_mutex relative(zk, "no/slash");
        CHECK(error_in(co_await relative.owned_by(me).acquire()) == errc::invalid_path);
        reentrant_mutex two_lines(zk, path, with(&mutex_options::identifier, "two\nlines"));
        CHECK(error_in(co_await two_lines.owned_by(me).acquire()) == errc::invalid_option);

        reentrant_mutex lock(zk, path);
        guard held = must(co_await lock.owned_by(me).acquire());
        reentrant_mutex like_kazoo(zk, path, with(&mutex_options::names, naming::kazoo));
        CHECK(error_in(co_await like_kazoo.owned_by(me).acquire()) == errc::invalid_option);
        const auto heeding = with(&mutex_options::also_heeds, {""});
        CHECK(error_in(co_await reentrant_mutex(zk, path, heeding).owned_by(me).acquire()) == errc::invalid_option);

        guard thrown = co_await lock.owned_by(me).acquire(asio::use_awaitable);
        auto later = lock.owned_by(me).try_acquire(asio::deferred);
        guard lazy = co_await std::move(later)(asio::use_awaitable);
        const auto strand = asio::make_strand(executor);
        pending<guard> bound;
        lock.owned_by(me).acquire(5s, asio::bind_executor(strand, bound.handler()));
        guard on_strand = co_await granted(bound);
        CHECK(lock.hold_count(me) == 4);
        pending<> give_back;
        lock.release(me, on_strand, give_back.handler());
        CHECK_FALSE(co_await give_back.end());
        {
            auto never_started = lock.release(me, lazy, asio::deferred);
        }
        CHECK(lazy);
        must(co_await lock.release(me, lazy));
        auto sum = [&](guard& g) -> awaitable<result<std::int64_t>> { co_return g.fencing_token(); };
        result<std::int64_t> token = co_await lock.owned_by(me).run(sum);
        CHECK(must(token) == held.fencing_token());
        thrown = guard();
        must(co_await std::move(held).release());
        co_await until("all holds are released", [&] { return lock.hold_count(me) == 0; });
        co_await nothing_left(server().port());

        guard again = must(co_await lock.owned_by(me).acquire());
        must(co_await zk.close());
        CHECK_FALSE(again);
        CHECK(error_in(co_await std::move(again).release()) == errc::lost);
    };
    run_test_on_threads(2, 60s, body);
    expect_clean(server(), {path});
}
