// program: semaphores
// "Do I hold it?": what each lock says of itself, without asking the servers.
#include "integration/adapter_scene.hpp"
#include "integration/semaphore_scene.hpp"
#include "integration/shared_scene.hpp"

#include <boost/asio/detached.hpp>

using namespace zklock::test;

TEST_CASE("a mutex is held from the grant to the release, whatever becomes of the guard in between")
{
    play<2>([&](admin_client& admin, remote_client& a, remote_client& b) -> awaitable<void> {
        const auto path = new_path();
        mutex lock(a.zk, path), another(a.zk, path), theirs(b.zk, path);
        const mutex copy = lock;
        CHECK_FALSE(lock.is_held());
        guard held = must(co_await lock.acquire());
        CHECK(lock.is_held());
        CHECK(copy.is_held());
        CHECK_FALSE(another.is_held());
        guard moved = std::move(held);
        CHECK(lock.is_held());

        auto waiting = co_await queued(admin, path, 2, begin_acquire(theirs));
        CHECK_FALSE(theirs.is_held()); // it waits
        co_await release(std::move(moved));
        CHECK_FALSE(lock.is_held());
        held = co_await granted(waiting);
        CHECK(theirs.is_held());
        held = guard();
        CHECK_FALSE(theirs.is_held()); // the delete is on its way

        bool held_in_the_body = false;
        const auto body = [&](guard&) -> awaitable<void> {
            held_in_the_body = lock.is_held();
            co_return;
        };
        must(co_await lock.run(body));
        CHECK(held_in_the_body);
        CHECK_FALSE(lock.is_held());

        // Handed to nobody, refused, given up.
        a.link.forget();
        lock.acquire(asio::detached);
        co_await until("it was granted and given back", [&] { return removes(a.link) == 1; });
        CHECK_FALSE(lock.is_held());
        held = must(co_await theirs.acquire());
        CHECK(error_in(co_await lock.try_acquire()) == errc::busy);
        CHECK(error_in(co_await lock.acquire(1ms)) == condition::not_in_time);
        CHECK_FALSE(lock.is_held());
        co_await release(std::move(held));
    });
}

TEST_CASE("a lock that is lost is not held, and the next guard of it is")
{
    play<1>([&](admin_client& admin, remote_client& a) -> awaitable<void> {
        mutex lock(a.zk, new_path());
        guard first = must(co_await lock.acquire());
        REQUIRE(admin.remove(first.node()));
        must(co_await first.wait_lost());
        CHECK_FALSE(lock.is_held());
        guard second = must(co_await lock.acquire());
        CHECK(lock.is_held());
        CHECK(error_in(co_await std::move(first).release()) == errc::lost);
        CHECK(lock.is_held());
        a.link.expire_session();
        must(co_await second.wait_lost());
        CHECK_FALSE(lock.is_held());
        guard third = must(co_await lock.acquire());
        CHECK(lock.is_held());
        must(co_await a.zk.close());
        CHECK_FALSE(lock.is_held());
        CHECK_FALSE(third);
    });
}

TEST_CASE("a lease that ends is seen by the clock, while nothing of the client runs")
{
    static constexpr auto session = 2000ms;
    play_timed<1>(session / 8, {.sessions = {session}}, [&](timed_scene&, remote_client& a) -> awaitable<void> {
        mutex lock(a.zk, new_path());
        semaphore gate(a.zk, new_path(), 2);
        reentrant_mutex again(a.zk, new_path());
        const lock_owner me;
        auto held = begin_acquire(lock);
        REQUIRE(!co_await held.end());
        auto some = begin(gate, 2);
        REQUIRE(!co_await some.end());
        auto entered = begin_acquire(again.owned_by(me));
        REQUIRE(!co_await entered.end());
        premise(lock.is_held() && gate.permits_held() == 2 && again.owned_by(me).is_held(), "held until it is cut off");
        a.link.block(direction::replies);
        wait_until("all say so", default_limit,
                   [&] { return !lock.is_held() && gate.permits_held() == 0 && !again.owned_by(me).is_held(); });
        CHECK_FALSE(again.is_held());
        CHECK_FALSE(held.value());
        CHECK_FALSE(some.value());
        CHECK(again.hold_count(me) == 1); // nobody has noticed yet
        a.link.unblock();
        must(co_await held.value().wait_lost());
        CHECK_FALSE(lock.is_held());
    });
}

TEST_CASE("readers and writers: alone, shared, and from one to the other")
{
    play<1>([&](admin_client& admin, remote_client& a) -> awaitable<void> {
        shared_mutex book(a.zk, new_path());
        const auto says = [&](bool alone, bool shared) {
            return book.is_held() == alone && book.shared().is_held() == shared;
        };
        CHECK(says(false, false));
        guard writer = must(co_await book.acquire());
        CHECK(says(true, false));
        guard reader = must(co_await book.downgrade(std::move(writer)));
        CHECK(says(false, true));
        guard second = must(co_await book.shared().acquire());
        co_await release(std::move(reader));
        CHECK(says(false, true));
        REQUIRE(admin.remove(second.node()));
        must(co_await second.wait_lost());
        CHECK(says(false, false));
        writer = must(co_await book.acquire());
        CHECK(says(true, false));
        co_await release(std::move(writer));
        CHECK(says(false, false));
    });
}

TEST_CASE("a writer that becomes a reader is not alone any more, even before it is told so")
{
    play<2>([&](admin_client&, remote_client& a, remote_client& b) -> awaitable<void> {
        const auto path = new_path();
        shared_mutex ours(a.zk, path), theirs(b.zk, path);
        guard held = must(co_await ours.acquire());
        a.link.block(direction::replies);
        auto downgrade = begin_downgrade(ours, held);
        guard reads = must(co_await theirs.shared().acquire(60s)); // the servers have done it
        CHECK(theirs.shared().is_held());
        CHECK_FALSE(ours.is_held());
        CHECK(ours.shared().is_held());
        a.link.unblock();
        guard reads_on = co_await granted(downgrade);
        CHECK_FALSE(ours.is_held());
        CHECK(ours.shared().is_held());
        co_await release(reads, reads_on);
        CHECK_FALSE(ours.shared().is_held());
    });
}

TEST_CASE("permits are counted, whoever has them")
{
    play<1>([&](admin_client& admin, remote_client& a) -> awaitable<void> {
        const auto path = new_path();
        semaphore gate(a.zk, path, 6), another(a.zk, path, 6);
        CHECK(gate.permits_held() == 0);
        permits four = must(co_await gate.permits_of(4).acquire());
        CHECK(gate.permits_held() == 4);
        permits two = must(co_await four.split(2));
        CHECK(gate.permits_held() == 4);
        must(co_await four.release(1));
        CHECK(gate.permits_held() == 3);
        permits more = must(co_await semaphore(gate).permits_of(3).acquire()); // a copy
        CHECK(gate.permits_held() == 6);
        CHECK(another.permits_held() == 0);
        permits all = must(co_await two.split(2));
        CHECK(gate.permits_held() == 6);
        CHECK_FALSE(two);
        REQUIRE(admin.remove(all.node()));
        must(co_await all.wait_lost());
        CHECK(gate.permits_held() == 4);
        more = permits();
        CHECK(gate.permits_held() == 1);
        must(co_await four.release(1));
        CHECK(gate.permits_held() == 0);
    });
}

TEST_CASE("an owner holds a re-entrant lock through whatever object it has entered by")
{
    play<2>([&](admin_client& admin, remote_client& a, remote_client& b) -> awaitable<void> {
        const auto path = new_path();
        reentrant_mutex lock(a.zk, path), another(a.zk, path), beside(a.zk, path + "0"), theirs(b.zk, path);
        const lock_owner me, other;
        CHECK_FALSE(lock.is_held());
        guard outer = must(co_await lock.owned_by(me).acquire());
        guard inner = must(co_await another.owned_by(me).acquire());
        for (const reentrant_mutex* one : {&lock, &another}) {
            CHECK(one->is_held());
            CHECK(one->owned_by(me).is_held());
            CHECK_FALSE(one->owned_by(other).is_held());
        }
        CHECK_FALSE(theirs.owned_by(me).is_held());
        CHECK_FALSE(beside.is_held());
        co_await release(std::move(outer));
        CHECK(lock.owned_by(me).is_held());
        REQUIRE(admin.remove(inner.node()));
        must(co_await inner.wait_lost());
        CHECK_FALSE(lock.owned_by(me).is_held());
        CHECK_FALSE(lock.is_held());
        CHECK(lock.hold_count(me) == 1); // it has to be released first
        CHECK(error_in(co_await std::move(inner).release()) == errc::lost);
        outer = must(co_await lock.owned_by(other).acquire());
        CHECK(another.owned_by(other).is_held());
        CHECK(another.is_held());
        CHECK_FALSE(another.owned_by(me).is_held());
        must(co_await a.zk.close());
        CHECK_FALSE(another.is_held());
        CHECK_FALSE(another.owned_by(other).is_held());
    });
}

TEST_CASE("several as one: held while all are, and each says so of itself")
{
    play<1>([&](admin_client& admin, remote_client& a) -> awaitable<void> {
        mutex one(a.zk, new_path());
        shared_mutex book(a.zk, new_path());
        semaphore gate(a.zk, new_path(), 3);
        reentrant_mutex shelf(a.zk, new_path());
        const lock_owner me;
        multi_lock all(one, book.shared(), gate.permits_of(2), shelf.owned_by(me));
        const auto says = [&](bool held) {
            return one.is_held() == held && book.shared().is_held() == held && !book.is_held() &&
                   gate.permits_held() == (held ? 2u : 0u);
        };
        guard single = must(co_await one.acquire());
        CHECK_FALSE(all.is_held());
        co_await release(std::move(single));
        multi_guard held = must(co_await all.acquire());
        CHECK(all.is_held());
        CHECK(says(true));
        CHECK(shelf.owned_by(me).is_held());
        must(co_await std::move(held).release());
        CHECK_FALSE(all.is_held());
        CHECK(says(false));
        CHECK_FALSE(shelf.owned_by(me).is_held());

        held = must(co_await all.acquire());
        REQUIRE(admin.remove(held.locks().back().node));
        must(co_await held.wait_lost());
        CHECK_FALSE(all.is_held());
        CHECK(says(false)); // the others are held for nobody
        held = multi_guard();
        CHECK_FALSE(multi_lock(std::vector<lockable>()).is_held());
    });
}

TEST_CASE("a participant leads while the body runs")
{
    const auto path = new_path();
    play<1>({.clean = {path}}, [&](admin_client& admin, remote_client& a) -> awaitable<void> {
        election chair(a.zk, path), another(a.zk, path);
        const election copy = chair;
        std::vector<bool> seen;
        const auto reign = [&](leadership& term) -> awaitable<void> {
            seen.push_back(copy.is_held() && !another.is_held());
            REQUIRE(admin.remove(term.node()));
            must(co_await term.wait_lost());
            seen.push_back(!chair.is_held());
        };
        CHECK_FALSE(chair.is_held());
        const result<void> led = co_await chair.lead(reign);
        CHECK(error_in(led) == errc::lost);
        CHECK(seen == std::vector<bool>(2, true));
        CHECK_FALSE(chair.is_held());
    });
}

TEST_CASE("where the context is gone nothing is held, and the guards that are left over may go")
{
    auto io = std::make_unique<asio::io_context>();
    client c(*io, usual_options());
    mutex lock(c, new_path()), another(c, new_path());
    multi_lock both(lock, another);
    auto held = hold<multi_guard>(*io, both);
    CHECK(lock.is_held());
    io.reset();
    CHECK_FALSE(lock.is_held());
    CHECK_FALSE(both.is_held());
    held = multi_guard();
    CHECK_FALSE(another.is_held());
    expect_clean(server());
}
