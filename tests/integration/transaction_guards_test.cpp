// sanitizers: address
// program: shared_mutexes
// Transactions guarded by each kind of lock; and by a writer that becomes a reader.
#include "integration/shared_scene.hpp"

#include <boost/asio/deferred.hpp>

using namespace zklock::test;

namespace {

/// It writes, and the servers look for so many nodes first; it does not when one of them is gone, although it has not
/// heard of that.
template <class Guard>
awaitable<void> writes_until_it_is_lost(remote_client& remote, admin_client& admin, protected_register& at,
                                        const Guard& held, std::string node, std::size_t nodes)
{
    remote.link.forget();
    must(co_await held.commit(at.write(node)));
    CHECK(at.value() == node);
    CHECK(remote.link.count(opcode::multi) == 1);
    CHECK(remote.link.count_in_multis(opcode::check) == nodes);
    remote.link.block(direction::replies);
    admin.remove(node);
    auto late = begin_commit(held, at.write("stale"));
    co_await until_asked(remote.link, opcode::multi, 2);
    remote.link.unblock();
    CHECK(co_await late.end() == errc::lost);
    CHECK(at.value() == node);
}

/// And of a guard that outlives its loss.
template <class Guard>
awaitable<void> writes_until_released_or_lost(remote_client& remote, admin_client& admin, protected_register& at,
                                              Guard& released, Guard& held, std::string node, std::size_t nodes)
{
    must(co_await released.commit(at.write("by the other")));
    CHECK(at.value() == "by the other");
    must(co_await std::move(released).release());
    CHECK(error_in(co_await released.commit(at.write("released"))) == errc::not_owner);
    co_await writes_until_it_is_lost(remote, admin, at, held, std::move(node), nodes);
    CHECK_FALSE(held);
    CHECK(error_in(co_await held.commit(at.write("later"))) == errc::lost);
    CHECK(error_in(co_await std::move(held).release()) == errc::lost);
}

awaitable<void> lead(election chair, const leadership*& term, error_code& outcome)
{
    auto body = [&term](leadership& t) -> awaitable<void> {
        term = &t;
        co_await sleep_for_ever();
    };
    const result<void> led = co_await chair.lead(body);
    outcome = error_in(led);
}

} // namespace

TEST_CASE("writers, readers and leaders write as long as they are that")
{
    const auto story = [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        protected_register stock(admin, "/register/kinds");
        co_await warm_up(remote, "/commit/elsewhere");
        shared_mutex lock(remote.zk, "/commit/shared");
        {
            guard first = must(co_await lock.acquire());
            auto next = begin_write(lock);
            must(co_await first.commit(stock.write("by the first")));
            CHECK(stock.value() == "by the first");
            must(co_await std::move(first).release());
            guard second = co_await granted(next);
            const std::string node = second.node();
            co_await writes_until_it_is_lost(remote, admin, stock, second, node, 1);
            CHECK_FALSE(second);
        }
        {
            guard one = must(co_await lock.shared().acquire());
            guard two = must(co_await lock.shared().acquire());
            const std::string node = two.node();
            co_await writes_until_released_or_lost(remote, admin, stock, one, two, node, 1);
        }
        {
            semaphore gate(remote.zk, "/commit/semaphore", 3);
            permits one = must(co_await gate.acquire());
            permits two = must(co_await gate.permits_of(2).acquire());
            const std::string node = two.node();
            co_await writes_until_released_or_lost(remote, admin, stock, one, two, node, 2);
        }
        election chair(remote.zk, "/commit/election");
        const leadership* term = nullptr;
        error_code outcome;
        bool over = false;
        asio::co_spawn(executor, lead(chair, term, outcome), [&over](std::exception_ptr) { over = true; });
        co_await until("it leads", [&term] { return term != nullptr; });
        const std::string node = term->node();
        co_await writes_until_it_is_lost(remote, admin, stock, *term, node, 1);
        co_await until("it has stopped", [&over] { return over; });
        CHECK(outcome == errc::lost);
        const leadership nobody;
        CHECK(error_in(co_await nobody.commit(stock.write("nobody"))) == errc::not_owner);
        CHECK(stock.value() == node);
    };
    const std::vector<std::string> paths{"/commit/shared", "/commit/semaphore/locks", "/commit/semaphore/leases",
                                         "/commit/election"};
    play<1>({.sessions = {120s}, .clean = paths}, story);
}

TEST_CASE("of several locks, and of re-entrant ones, all nodes are looked for")
{
    const auto story = [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        protected_register stock(admin, "/register/several");
        co_await warm_up(remote, "/commit/elsewhere");
        mutex a(remote.zk, "/commit/a");
        reentrant_mutex b(remote.zk, "/commit/b");
        const lock_owner me;
        multi_lock all(a, b.owned_by(me));
        multi_guard held = must(co_await all.acquire());
        remote.link.forget();
        must(co_await held.commit(stock.write("both")));
        CHECK(stock.value() == "both");
        CHECK(remote.link.count_in_multis(opcode::check) == 2);
        guard again = must(co_await b.owned_by(me).acquire());
        must(co_await again.commit(stock.write("again")));
        co_await release(std::move(again));

        remote.link.block(direction::replies);
        admin.remove(held.locks()[1].node);
        pending<commit_result> late;
        held.commit(stock.write("one"), late.handler());
        co_await until_asked(remote.link, opcode::multi, 3);
        remote.link.unblock();
        CHECK(co_await late.end() == errc::lost);
        CHECK_FALSE(held);
        CHECK(stock.value() == "again");
        CHECK(error_in(co_await std::move(held).release()) == errc::lost);
        multi_guard none;
        CHECK(error_in(co_await none.commit(stock.write("none"))) == errc::not_owner);
    };
    play<1>({.sessions = {120s}, .clean = {"/commit/a", "/commit/b"}}, story);
}

TEST_CASE("what was called on a writer before it became a reader is done before, connected or not")
{
    const std::string path = "/commit/downgraded";
    play<1>({.sessions = {120s}, .clean = {path}}, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        protected_register stock(admin, "/register/downgraded");
        shared_mutex lock(remote.zk, path);
        for (const bool connected : {true, false}) {
            guard held = must(co_await lock.acquire());
            if (!connected) {
                // One whose answer is lost is in nobody's way.
                remote.link.refuse();
                remote.link.on_next(opcode::multi, moment::reply, fate::cut);
                CHECK(error_in(co_await held.commit(stock.write("unknown"))) == errc::outcome_unknown);
                co_await remote.suspended();
            }
            auto written = begin_commit(held, stock.write("by the writer"));
            auto attempt = begin_downgrade(lock, held);
            if (!connected) {
                CHECK_FALSE(written.ended());
                remote.link.accept();
            }
            CHECK_FALSE(co_await written.end());
            CHECK_FALSE(co_await attempt.end());
            CHECK(stock.value() == "by the writer");
            guard reads = std::move(attempt.value());
            CHECK(reads);
            must(co_await reads.commit(stock.write("by the reader")));
            CHECK(stock.value() == "by the reader");
            co_await release(std::move(reads));
        }
        // A lazy one that is kept while the guard is taken away.
        guard held = must(co_await lock.acquire());
        const auto lazy = held.commit(stock.write("lazy"), asio::deferred);
        remote.link.block(direction::replies);
        auto attempt = begin_downgrade(lock, held);
        pending<commit_result> meanwhile, after;
        lazy(meanwhile.handler());
        CHECK(co_await meanwhile.end() == errc::not_owner);
        remote.link.unblock();
        CHECK_FALSE(co_await attempt.end());
        lazy(after.handler());
        CHECK(co_await after.end() == errc::not_owner); // another guard holds it since
        CHECK(stock.value() == "by the reader");
        co_await release(std::move(attempt.value()));
    });
}
