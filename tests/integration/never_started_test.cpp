// sanitizers: address
// program: adapter
// An operation that is never started does nothing, whatever it is, and keeps nothing: guards keep their locks.
#include "integration/recipe_scene.hpp"

#include <boost/asio/deferred.hpp>

using namespace zklock::test;

namespace {

/// What every kind of guard offers.
template <class Guard> void never_start_any_of(Guard& held)
{
    transaction t;
    t.create("/never/written", {}, node_kind::persistent);
    auto lost = held.wait_lost(asio::deferred);
    auto revoked = held.wait_revoked(asio::deferred);
    auto commit = held.commit(std::move(t), asio::deferred);
    auto release = std::move(held).release(asio::deferred);
    auto awaited = std::move(held).release();
    CHECK(held);
}

/// What every lock offers that can be acquired.
template <class Lock> void never_acquire(const Lock& lock)
{
    auto waiting = lock.acquire(asio::deferred);
    auto waiting_so_long = lock.acquire(5s, asio::deferred);
    auto trying = lock.try_acquire(asio::deferred);
    auto awaited = lock.acquire();
    auto body = [](typename Lock::guard_type&) -> awaitable<void> { co_return; };
    auto running = lock.run(body);
    auto running_so_long = lock.run(5s, body);
}

template <class Lock> void never_ask(const Lock& lock)
{
    auto contenders = lock.contenders(asio::deferred);
    auto revoke = lock.revoke(contender(), asio::deferred);
    auto revoke_holders = lock.revoke_holders(asio::deferred);
}

} // namespace

TEST_CASE("never started: no operation of a lock, a guard or a client has any effect")
{
    const auto story = [&](remote_client& remote) -> awaitable<void> {
        const client& zk = remote.zk;
        mutex alone(zk, "/never/alone");
        shared_mutex book(zk, "/never/book");
        reentrant_mutex shelf(zk, "/never/shelf");
        owned_shared_mutex owned(zk, "/never/owned");
        semaphore gate(zk, "/never/gate", 3);
        election chair(zk, "/never/chair");
        multi_lock both(alone, shelf.owned_by(lock_owner()));
        const lock_owner me;
        guard held = must(co_await alone.acquire());
        guard writer = must(co_await book.acquire());
        guard own = must(co_await shelf.owned_by(me).acquire());
        guard reads = must(co_await owned.shared(me).acquire());
        permits three = must(co_await gate.permits_of(3).acquire());
        mutex a(zk, "/never/a"), b(zk, "/never/b");
        multi_guard two = must(co_await multi_lock(a, b).acquire());

        remote.link.forget();
        never_acquire(alone);
        never_acquire(book);
        never_acquire(book.shared());
        never_acquire(shelf.owned_by(me));
        never_acquire(owned.shared(me));
        never_acquire(gate);
        never_acquire(both);
        never_ask(alone);
        never_ask(book);
        never_ask(shelf);
        never_ask(owned);
        never_ask(gate);
        never_ask(chair);
        never_start_any_of(held);
        never_start_any_of(writer);
        never_start_any_of(own);
        never_start_any_of(reads);
        never_start_any_of(three);
        never_start_any_of(two);
        {
            auto downgrade = book.downgrade(std::move(writer), asio::deferred);
            auto upgrade = book.upgrade(writer, asio::deferred);
            auto release = shelf.release(me, own, asio::deferred);
            auto release_reader = owned.release(me, reads, asio::deferred);
            auto holders = gate.holders(asio::deferred);
            auto split = three.split(1, asio::deferred);
            auto part = three.release(1, asio::deferred);
            auto reign = [](leadership&) -> awaitable<void> { co_return; };
            auto lead = chair.lead(reign);
            auto resign = chair.resign(asio::deferred);
            auto wait = chair.wait_for_leadership(asio::deferred);
            auto leader = chair.leader(asio::deferred);
            auto connected = remote.zk.wait_connected(asio::deferred);
            auto close = remote.zk.close(asio::deferred);
        }
        CHECK(held);
        CHECK(writer);
        CHECK(shelf.hold_count(me) == 1);
        CHECK(owned.hold_count_shared(me) == 1);
        CHECK(three.count() == 3);
        CHECK(gate.permits_held() == 3);
        CHECK(two.locks().size() == 2);
        must(co_await held.commit(transaction())); // what was sent before has been answered by now
        CHECK(remote.link.count(opcode::multi) == 1);
        CHECK(creates(remote.link) == 0);
        CHECK(remote.link.count(opcode::remove) == 0);

        must(co_await std::move(held).release());
        must(co_await std::move(writer).release());
        must(co_await shelf.release(me, own));
        must(co_await owned.release(me, reads));
        must(co_await std::move(three).release());
        must(co_await std::move(two).release());
    };
    play<1>({.sessions = {120s},
             .clean = {"/never/alone", "/never/book", "/never/shelf", "/never/owned", "/never/gate/locks",
                       "/never/gate/leases", "/never/chair", "/never/a", "/never/b"}},
            story);
}

TEST_CASE("an operation that is kept keeps no lock: the guard may move, or go away before it begins")
{
    const auto story = [&](remote_client& remote) -> awaitable<void> {
        mutex lock(remote.zk, "/never/kept");
        guard first = must(co_await lock.acquire());
        auto release = std::move(first).release(as_result(asio::deferred));
        guard second = std::move(first);
        must(co_await std::move(release)(asio::use_awaitable));
        CHECK_FALSE(second);
        CHECK(second.node().empty());

        std::optional<guard> gone = must(co_await lock.acquire());
        auto late = std::move(*gone).release(as_result(asio::deferred));
        gone.reset();
        guard next = must(co_await lock.acquire(20s)); // it was released, though `late` is there
        const result<void> too_late = co_await std::move(late)(asio::use_awaitable);
        CHECK(error_in(too_late) == errc::not_owner);
        CHECK(next);
        must(co_await std::move(next).release());
    };
    play<1>({.sessions = {120s}, .clean = {"/never/kept"}}, story);
}

TEST_CASE("a guard made from what more is held by takes over all, and the other is empty")
{
    const auto story = [&](remote_client& remote) -> awaitable<void> {
        semaphore gate(remote.zk, "/never/taken", 2);
        permits two = must(co_await gate.permits_of(2).acquire());
        guard held = std::move(two);
        CHECK(held);
        CHECK(two.count() == 0);
        CHECK_FALSE(two);
        must(co_await std::move(held).release());
        CHECK(gate.permits_held() == 0);

        mutex lock(remote.zk, "/never/a");
        held = must(co_await lock.acquire());
        static_cast<guard&>(two) = std::move(held);
        CHECK(two);
        CHECK(two.count() == 0); // it is no permit
        CHECK(error_in(co_await two.release(1)) == errc::not_owner);
        CHECK(error_in(co_await two.split(1)) == errc::not_owner);
        must(co_await std::move(two).release());

        mutex a(remote.zk, "/never/a"), b(remote.zk, "/never/b");
        multi_guard both = must(co_await multi_lock(a, b).acquire());
        held = std::move(both);
        CHECK(held);
        CHECK(both.locks().empty());
        CHECK_FALSE(both);
        CHECK(a.is_held());
        held = guard(); // in the background
        co_await nothing_left(server().port());

        election chair(remote.zk, "/never/chair");
        auto reign = [&](leadership& term) -> awaitable<void> {
            held = std::move(term);
            CHECK(held);
            CHECK_FALSE(term);
            CHECK(term.node().empty());
            co_return;
        };
        must(co_await chair.lead(reign));
        CHECK(chair.is_held());
        must(co_await std::move(held).release());
        CHECK_FALSE(chair.is_held());
    };
    play<1>({.sessions = {120s},
             .clean = {"/never/taken/locks", "/never/taken/leases", "/never/a", "/never/b", "/never/chair"}},
            story);
}
