#pragma once
// What two clients do with each recipe, wherever it lives: each has a story of two who may, and one of somebody who may
// not. A new recipe joins the table at the end with one line.
#include "integration/semaphore_scene.hpp"
#include "integration/shared_scene.hpp"

namespace zklock::test {

/// Where a lock is.
struct environment {
    std::string name;
    const char* secret; ///< of the digest scheme; null for none
    access_list access;
    const char* chroot;
    const char* below; ///< the lock's path goes on so
    parent_kind parents;
    const char* second_secret = nullptr; ///< of the second client, if it has another
    bool by_lock = false;                ///< the locks have that list, and their clients have none

    [[nodiscard]] bool everybody_may_read() const
    {
        const auto anyone = [](const access_entry& entry) { return entry.scheme == "world"; };
        return std::ranges::any_of(access.entries(), anyone);
    }
};

/// Has the credentials that the ACLs ask for.
struct owner_of : admin_client {
    explicit owner_of(const environment& where) : admin_client(server().port())
    {
        if (where.secret)
            authenticate("digest", where.secret);
    }
};

/// What one wants from a lock.
struct wishes {
    const environment& where;
    std::string path;
    mutex_options options;

    [[nodiscard]] shared_mutex_options shared() const
    {
        shared_mutex_options o;
        o.parents = options.parents;
        o.access = options.access;
        return o;
    }
    [[nodiscard]] semaphore_options permits() const
    {
        semaphore_options o;
        o.permits = 2;
        o.parents = options.parents;
        o.access = options.access;
        return o;
    }
    [[nodiscard]] election_options terms() const
    {
        election_options o;
        o.parents = options.parents;
        o.access = options.access;
        o.identifier = "the first";
        return o;
    }
};

/// Whether ZooKeeper says that it is not for everybody.
template <class F> [[nodiscard]] bool forbidden(F f)
{
    try {
        f();
        return false;
    } catch (const zookeeper_error& e) {
        return e.code() == -102;
    }
}

/// A node that is held can be touched by those who may, and by nobody else.
inline void expect_guarded(const wishes& w, const std::string& node)
{
    const std::string full = w.where.chroot + node;
    CAPTURE(full);
    admin_client anybody(server().port());
    CHECK(forbidden([&] { static_cast<void>(anybody.get(full)); }) == !w.where.everybody_may_read());
    if (w.where.secret) {
        CHECK(forbidden([&] { anybody.set(full, "mine"); }));
        CHECK(forbidden([&] { anybody.remove(full); }));
    }
    CHECK_FALSE(owner_of(w.where).get(full).empty());
}

/// Until so many are in the queue, as a client sees it.
template <class Lock> awaitable<void> until_listed(Lock lock, std::size_t count)
{
    asio::steady_timer timer(co_await asio::this_coro::executor);
    const auto end = steady_clock::now() + default_limit;
    for (;;) {
        const std::vector<contender> queue = must(co_await lock.contenders());
        if (queue.size() == count)
            co_return;
        if (steady_clock::now() > end)
            throw std::runtime_error("so many are never in the queue");
        timer.expires_after(milliseconds{1});
        co_await timer.async_wait(asio::use_awaitable);
    }
}

inline awaitable<void> use_mutex(client& one, client& two, const wishes& w)
{
    mutex first(one, w.path, w.options), second(two, w.path, w.options);
    guard held = must(co_await first.acquire(60s));
    CHECK(held.node().starts_with(w.path + "/"));
    expect_guarded(w, held.node());
    auto waits = begin_acquire(second);
    co_await until_listed(first, 2);
    CHECK(error_in(co_await second.try_acquire()) == errc::busy);
    CHECK(must(co_await second.revoke_holders()) == 1);
    must(co_await held.wait_revoked());
    co_await release(std::move(held));
    co_await take_turn(waits);
}

inline awaitable<void> use_reentrant_mutex(client& one, client& two, const wishes& w)
{
    reentrant_mutex first(one, w.path, w.options);
    mutex second(two, w.path, w.options);
    const lock_owner me;
    guard outer = must(co_await first.owned_by(me).acquire(60s));
    auto waits = begin_acquire(second);
    co_await until_listed(second, 2);
    guard inner = must(co_await first.owned_by(me).acquire());
    expect_guarded(w, inner.node());
    co_await release(std::move(outer));
    CHECK_FALSE(waits.ended());
    co_await release(std::move(inner));
    co_await take_turn(waits);
}

inline awaitable<void> use_multi_lock(client& one, client& two, const wishes& w)
{
    multi_lock both(mutex(one, w.path + "/b", w.options), mutex(one, w.path + "/a", w.options));
    mutex second(two, w.path + "/a", w.options);
    multi_guard held = must(co_await both.acquire(60s));
    CHECK(held.locks().size() == 2);
    for (const held_lock& each : held.locks())
        expect_guarded(w, each.node);
    auto waits = begin_acquire(second);
    co_await until_listed(second, 2);
    must(co_await std::move(held).release());
    co_await take_turn(waits);
}

inline awaitable<void> use_election(client& one, client& two, const wishes& w)
{
    election first(one, w.path, w.terms()), second(two, w.path, w.terms());
    int terms = 0;
    const auto reign = [&](leadership& term) -> awaitable<void> {
        ++terms;
        CHECK(term);
        expect_guarded(w, term.node());
        const std::optional<contender> leader = must(co_await second.leader());
        REQUIRE(leader);
        CHECK(leader->identifier == "the first");
        CHECK(leader->node == term.node());
    };
    must(co_await first.lead(60s, reign));
    must(co_await second.lead(60s, reign));
    CHECK(terms == 2);
}

inline awaitable<void> use_shared_mutex(client& one, client& two, const wishes& w)
{
    shared_mutex first(one, w.path, w.shared()), second(two, w.path, w.shared());
    guard reads = must(co_await first.shared().acquire(60s));
    guard reads_too = must(co_await second.shared().acquire(60s));
    expect_guarded(w, reads_too.node());
    auto waits = begin_write(first);
    co_await until_listed(second, 3);
    co_await release(std::move(reads));
    CHECK_FALSE(waits.ended());
    co_await release(std::move(reads_too));
    guard writes = co_await granted(waits);
    CHECK(error_in(co_await second.shared().try_acquire()) == errc::busy);
    guard reads_on = must(co_await first.downgrade(std::move(writes)));
    expect_guarded(w, reads_on.node());
    co_await take_turn(second.shared(), 60s);
    co_await release(std::move(reads_on));
}

inline awaitable<void> use_owned_shared_mutex(client& one, client& two, const wishes& w)
{
    owned_shared_mutex first(one, w.path, w.shared()), second(two, w.path, w.shared());
    const lock_owner me, other;
    guard writes = must(co_await first.owned_by(me).acquire(60s));
    guard reads = must(co_await first.shared(me).acquire());
    expect_guarded(w, reads.node());
    auto waits = begin_acquire(second.shared(other));
    co_await until_listed(second, 2);
    CHECK(error_in(co_await second.shared(me).try_acquire()) == errc::busy);
    co_await release(std::move(writes));
    guard reads_too = co_await granted(waits);
    CHECK((reads && reads_too));
    guard reads_on = must(co_await first.shared(me).acquire());
    expect_guarded(w, reads_on.node());
    expect_guarded(w, reads_too.node());
    CHECK(must(co_await second.contenders()).size() == 2);
    co_await release(reads, reads_on, reads_too);
    writes = must(co_await second.owned_by(other).acquire(60s));
    expect_guarded(w, writes.node());
    co_await release(std::move(writes));
}

inline awaitable<void> use_semaphore(client& one, client& two, const wishes& w)
{
    semaphore first(one, w.path, w.permits()), second(two, w.path, w.permits());
    permits held = must(co_await first.permits_of(2).acquire(60s));
    expect_guarded(w, held.node());
    auto waits = begin(second, 1);
    const std::vector<contender> holders = must(co_await second.holders());
    CHECK(holders.size() >= 2);
    must(co_await held.release(1));
    co_await take_turn(waits);
    co_await release(std::move(held));
    co_await no_permit_left(server().port(), w.where.chroot + w.path);
}

inline awaitable<error_code> ask_mutex(client& zk, const wishes& w)
{
    mutex lock(zk, w.path, w.options);
    co_return error_in(co_await lock.acquire(60s));
}

inline awaitable<error_code> ask_reentrant_mutex(client& zk, const wishes& w)
{
    reentrant_mutex lock(zk, w.path, w.options);
    const lock_owner me;
    co_return error_in(co_await lock.owned_by(me).acquire(60s));
}

inline awaitable<error_code> ask_multi_lock(client& zk, const wishes& w)
{
    multi_lock both(mutex(zk, w.path + "/a", w.options), mutex(zk, w.path + "/b", w.options));
    co_return error_in(co_await both.acquire(60s));
}

inline awaitable<error_code> ask_election(client& zk, const wishes& w)
{
    election chair(zk, w.path, w.terms());
    const auto reign = [](leadership&) -> awaitable<void> {
        FAIL("leads without the credentials");
        co_return;
    };
    co_return error_in(co_await chair.lead(60s, reign));
}

inline awaitable<error_code> ask_shared_mutex(client& zk, const wishes& w)
{
    shared_mutex lock(zk, w.path, w.shared());
    const error_code of_a_writer = error_in(co_await lock.acquire(60s));
    const error_code of_a_reader = error_in(co_await lock.shared().acquire(60s));
    CHECK(of_a_reader == of_a_writer);
    co_return of_a_writer;
}

inline awaitable<error_code> ask_owned_shared_mutex(client& zk, const wishes& w)
{
    owned_shared_mutex lock(zk, w.path, w.shared());
    const lock_owner me;
    const error_code of_a_writer = error_in(co_await lock.owned_by(me).acquire(60s));
    const error_code of_a_reader = error_in(co_await lock.shared(me).acquire(60s));
    CHECK(of_a_reader == of_a_writer);
    co_return of_a_writer;
}

inline awaitable<error_code> ask_semaphore(client& zk, const wishes& w)
{
    semaphore gate(zk, w.path, w.permits());
    co_return error_in(co_await gate.acquire(60s));
}

struct recipe {
    std::string name;
    /// As two clients that may.
    awaitable<void> (*use)(client& one, client& two, const wishes&);
    /// Wants it once, in vain.
    awaitable<error_code> (*ask)(client&, const wishes&);
};

inline const recipe every_recipe[] = {
    {"mutex", use_mutex, ask_mutex},
    {"reentrant_mutex", use_reentrant_mutex, ask_reentrant_mutex},
    {"multi_lock", use_multi_lock, ask_multi_lock},
    {"election", use_election, ask_election},
    {"shared_mutex", use_shared_mutex, ask_shared_mutex},
    {"owned_shared_mutex", use_owned_shared_mutex, ask_owned_shared_mutex},
    {"semaphore", use_semaphore, ask_semaphore},
};

} // namespace zklock::test
