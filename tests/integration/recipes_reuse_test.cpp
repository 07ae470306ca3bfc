// sanitizers: address
// program: recipes
// Recipes whose locks linger or serve cohorts: what they promise stays the same, with fewer nodes.
#include "integration/recipe_scene.hpp"

#include <boost/asio/redirect_error.hpp>

using namespace zklock::test;

namespace {

mutex_options lingering()
{
    return with(&mutex_options::linger, 1h);
}

/// Until a released node may stay: the children are watched.
awaitable<void> until_lingering(remote_client& remote, std::string path)
{
    co_await until_watched(remote.zk, std::move(path));
}

} // namespace

TEST_CASE("re-entrant, lingering: the next owner takes the node over with a token of its own")
{
    const std::string path = "/reuse/reentrant";
    play<1>({.sessions = {120s}, .clean = {path}}, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        admin.create_all(path);
        co_await warm_up(remote, "/reuse/warm");
        reentrant_mutex lock(remote.zk, path, lingering());
        const lock_owner one, two;
        guard outer = must(co_await lock.owned_by(one).acquire());
        guard inner = must(co_await lock.owned_by(one).acquire());
        const std::string node = outer.node();
        std::int64_t token = outer.fencing_token();
        CHECK(inner.fencing_token() == token); // the same hold
        co_await release(std::move(outer));
        CHECK(inner);
        CHECK(error_in(co_await lock.owned_by(two).try_acquire()) == errc::busy);
        co_await release(std::move(inner));
        co_await until_lingering(remote, path);
        remote.link.forget();
        for (int i = 0; i < 20; ++i) {
            const lock_owner& who = i % 2 == 0 ? two : one;
            guard held = must(co_await lock.owned_by(who).acquire());
            guard again = must(co_await lock.owned_by(who).try_acquire());
            CHECK(held.node() == node);
            CHECK(held.fencing_token() > token);
            CHECK(again.fencing_token() == held.fencing_token());
            token = held.fencing_token();
            CHECK(lock.hold_count(who) == 2);
            co_await release(held, again);
            CHECK(lock.hold_count(who) == 0);
        }
        for (const opcode op : {opcode::create2, opcode::multi, opcode::remove})
            CHECK(remote.link.count(op) == 0);

        // A lingering node that others delete, or whose session ends, serves nobody.
        admin.remove(node);
        const auto seen = must(co_await lock.contenders()); // answered after the event
        CHECK(seen.empty());
        guard held = must(co_await lock.owned_by(one).acquire());
        CHECK(held.node() != node);
        CHECK(held.fencing_token() > token);
        token = held.fencing_token();
        co_await release(std::move(held));
        remote.link.expire_session();
        held = must(co_await lock.owned_by(one).acquire());
        CHECK(held.fencing_token() > token);
        const std::string others = foreign_contender(admin, path);
        co_await release(std::move(held)); // with somebody behind it, it does not linger
        co_await until_only_left(server().port(), others);
        admin.remove(others);
    });
}

TEST_CASE("an election whose leader lingers, or whose candidates are a cohort: each term has its own token")
{
    const std::string path = "/reuse/election";
    const auto story = [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        admin.create_all(path);
        co_await warm_up(remote, "/reuse/warm");
        election chair(remote.zk, path, with<election_options>(&election_options::linger, 1h));
        std::int64_t token = 0;
        std::string node;
        auto reigns = [&](leadership& term) -> awaitable<result<void>> {
            CHECK(term.fencing_token() > token);
            token = term.fencing_token();
            node = term.node();
            co_return boost::outcome_v2::success();
        };
        must(co_await chair.lead(reigns));
        const std::string first_node = node;
        co_await until_lingering(remote, path);
        for (int i = 0; i < 5; ++i) {
            must(co_await chair.lead(reigns));
            CHECK(node == first_node);
        }
        // A node that only lingers leads nobody; the next candidate from elsewhere need not wait long.
        remote_client rival_host(executor, server().port());
        co_await rival_host.connect();
        election rival(rival_host.zk, path);
        must(co_await rival.lead(reigns));
        CHECK(node != first_node);
        must(co_await chair.lead(reigns));
        co_await rival_host.close();

        // Several terms of several candidates of one participant on few nodes; resigning ends all of them.
        const std::string together_path = path + "_cohort";
        admin.create_all(together_path);
        const auto shared = with<election_options>(&election_options::cohort, 8, &election_options::requeue, true);
        election many(remote.zk, together_path, shared);
        int terms = 0;
        int leading = 0;
        std::int64_t last = 0;
        auto counts = [&](leadership& term) -> awaitable<void> {
            CHECK(leading++ == 0);
            CHECK(term.fencing_token() > last);
            last = term.fencing_token();
            ++terms;
            const auto on = co_await asio::this_coro::executor;
            asio::steady_timer turn(on, 0ms);
            error_code ec;
            co_await turn.async_wait(asio::redirect_error(asio::use_awaitable, ec));
            --leading;
        };
        int ended = 0;
        auto stands = [&]() -> awaitable<void> {
            const result<void> reign = co_await many.lead(counts);
            CHECK((!reign.has_error() || reign.error() == asio::error::operation_aborted));
            ++ended;
        };
        for (int i = 0; i < 4; ++i)
            asio::co_spawn(executor, stands(), [](std::exception_ptr e) { CHECK_FALSE(e); });
        co_await until("many terms", [&] { return terms >= 64; });
        must(co_await many.resign());
        co_await until("all have ended", [&] { return ended == 4; });
        CHECK(leading == 0);
        co_await until("the nodes have gone", [&] { return queue_of(admin, together_path).empty(); });
        CHECK(creates_under(admin, together_path) < terms);
        const std::string elsewhere = foreign_contender(admin, path);
        co_await until_only_left(server().port(), elsewhere);
        admin.remove(elsewhere);
    };
    play<1>({.sessions = {120s}, .clean = {path, path + "_cohort"}}, story);
}

TEST_CASE("a free lock that lingers is busy for another client's try, and not for its acquire")
{
    const std::string path = "/reuse/tries";
    const auto story = [&](admin_client& admin, remote_client& remote, remote_client& other) -> awaitable<void> {
        admin.create_all(path);
        mutex lock(remote.zk, path, lingering()), foreign(other.zk, path);
        guard held = must(co_await lock.acquire());
        const std::int64_t token = held.fencing_token();
        co_await release(std::move(held));
        co_await until_lingering(remote, path);
        must(co_await other.zk.wait_connected(test_limit));
        CHECK(error_in(co_await foreign.try_acquire()) == errc::busy);
        held = must(co_await foreign.acquire());
        CHECK(held.fencing_token() > token);
        co_await release(std::move(held));
    };
    play<2>({.sessions = {120s, 120s}, .clean = {path}}, story);
}
