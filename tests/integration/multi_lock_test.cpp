// sanitizers: address
// program: recipes
// multi_lock: all of them, or none.
#include "integration/recipe_scene.hpp"

#include <boost/asio/deferred.hpp>

using namespace zklock::test;

namespace {

std::string foreign(admin_client& admin, const std::string& path)
{
    admin.create_all(path);
    return foreign_contender(admin, path);
}

awaitable<void> cross(multi_lock both, int rounds, int& inside)
{
    for (int i = 0; i < rounds; ++i) {
        result<multi_guard> held = co_await both.acquire(60s);
        REQUIRE(!held.has_error());
        CHECK(inside++ == 0);
        --inside;
        must(co_await std::move(held).value().release());
    }
}

} // namespace

TEST_CASE("all are taken in the order of their paths, and given back in reverse")
{
    const auto story = [&](remote_client& remote) -> awaitable<void> {
        co_await warm_up(remote, "/multi/warm");
        const lock_owner me;
        mutex a(remote.zk, "/multi/a"), b(remote.zk, "/multi/b");
        reentrant_mutex c(remote.zk, "/multi/c");
        multi_lock all(b, c.owned_by(me), a);
        multi_guard held = must(co_await all.acquire());
        CHECK(held);
        REQUIRE(held.locks().size() == 3);
        CHECK(held.locks()[0].path == "/multi/a");
        CHECK(held.locks()[2].path == "/multi/c");
        for (const held_lock& one : held.locks()) {
            CHECK(one.fencing_token > 0);
            CHECK(one.node.starts_with(one.path + "/"));
        }
        CHECK(held.locks()[0].fencing_token < held.locks()[1].fencing_token);
        CHECK(held.locks()[1].fencing_token < held.locks()[2].fencing_token);
        CHECK(held.held_until() > lease_clock::now());
        CHECK(c.hold_count(me) == 1);
        CHECK(error_in(co_await b.try_acquire()) == errc::busy);
        CHECK(error_in(co_await all.try_acquire()) == errc::busy);
        guard again = must(co_await c.owned_by(me).acquire()); // its owner may
        CHECK(held);

        multi_guard moved = std::move(held);
        CHECK_FALSE(held);
        CHECK(held.locks().empty());
        remote.link.forget();
        must(co_await std::move(moved).release());
        CHECK(moved.locks().empty());
        CHECK(error_in(co_await std::move(moved).release()) == errc::not_owner);
        CHECK(error_in(co_await moved.wait_lost()) == errc::not_owner);
        CHECK(removes(remote.link) == 2); // the third has a hold left
        must(co_await std::move(again).release());
        co_await nothing_left(server().port());

        // Once the parents exist: a create for each, a delete for each, in reverse.
        remote.link.forget();
        held = must(co_await all.try_acquire());
        CHECK(creates(remote.link) == 3);
        const std::string last = held.locks()[2].node;
        remote.link.forget();
        must(co_await std::move(held).release());
        CHECK(removes(remote.link) == 3);
        for (const auto& seen : remote.link.history())
            if (seen.op == opcode::remove) {
                CHECK(seen.path == last);
                break;
            }
        held = must(co_await all.acquire(5s));
        held = multi_guard(); // in the background
        co_await nothing_left(server().port());

        auto sum = [&](multi_guard& g) -> awaitable<result<std::size_t>> { co_return g.locks().size(); };
        result<std::size_t> size = co_await all.run(20s, sum);
        CHECK(must(size) == 3);
        multi_guard thrown = co_await all.acquire(asio::use_awaitable);
        auto later = std::move(thrown).release(asio::deferred);
        co_await std::move(later)(asio::use_awaitable);
    };
    play<1>({.sessions = {120s}, .clean = {"/multi/a", "/multi/b", "/multi/c"}}, story);
}

TEST_CASE("one cannot be had: all are given back, whatever the reason; one deadline for all")
{
    const auto story = [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        co_await warm_up(remote, "/multi/warm");
        mutex a(remote.zk, "/multi/a"), b(remote.zk, "/multi/b"), c(remote.zk, "/multi/c");
        multi_lock all(a, b, c);
        const std::string on_c = foreign(admin, "/multi/c");

        CHECK(error_in(co_await all.try_acquire()) == errc::busy);
        co_await until_only_left(server().port(), on_c);
        CHECK(error_in(co_await all.acquire(0s)) == errc::timed_out);
        co_await until_only_left(server().port(), on_c);

        // The first two are held, the third is waited for.
        const auto before = steady_clock::now();
        CHECK(error_in(co_await all.acquire(50ms)) == condition::not_in_time);
        CHECK(steady_clock::now() - before >= 50ms);
        co_await until_only_left(server().port(), on_c);
        for (const auto type : cancellation_types) {
            auto waiting = co_await queued(admin, "/multi/c", 2, begin_acquire<multi_guard>(all));
            CHECK(admin.children("/multi/a").size() == 1);
            waiting.cancel(type);
            CHECK(co_await waiting.end() == asio::error::operation_aborted);
            co_await until_only_left(server().port(), on_c);
            auto early = begin_acquire<multi_guard>(all);
            early.cancel(type);
            CHECK(co_await early.end() == asio::error::operation_aborted);
            co_await until_only_left(server().port(), on_c);
        }

        // Refused by the server: the first error is the result, and what is held goes.
        std::vector<access_rule> nobody_creates(1);
        nobody_creates[0].permissions = 31 & ~4;
        admin.set_access("/multi/b", nobody_creates);
        CHECK(error_in(co_await all.acquire(20s)) == errc::access_denied);
        co_await until_only_left(server().port(), on_c);
        admin.set_access("/multi/b", std::vector<access_rule>(1));

        // Somebody deletes what is held already: that release finds nothing, the others go on.
        auto waiting = co_await queued(admin, "/multi/c", 2, begin_acquire<multi_guard>(all));
        admin.remove(on_c);
        multi_guard held = co_await granted(waiting);
        auto told = begin_wait_lost(held);
        admin.remove(held.locks()[1].node);
        CHECK_FALSE(co_await told.end());
        CHECK_FALSE(held);
        CHECK(error_in(co_await std::move(held).release()) == errc::lost);
    };
    play<1>({.sessions = {120s}, .clean = {"/multi/a", "/multi/b", "/multi/c"}}, story);
}

TEST_CASE("some releases fail: the others go on, at a release, at a roll-back and in the background")
{
    const auto story = [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        co_await warm_up(remote, "/multi/warm");
        mutex a(remote.zk, "/multi/a"), b(remote.zk, "/multi/b"), c(remote.zk, "/multi/c");
        multi_lock all(a, b, c);
        const auto allow_deletes = [&](const std::string& path, bool allowed) {
            std::vector<access_rule> rules(1);
            if (!allowed)
                rules[0].permissions = 31 & ~8;
            admin.set_access(path, rules);
        };

        // The one in the middle cannot be given back for now: the first in the order is, and the error is told.
        multi_guard held = must(co_await all.acquire());
        const std::string stuck = held.locks()[1].node;
        allow_deletes("/multi/b", false);
        CHECK(error_in(co_await std::move(held).release()) == errc::access_denied);
        co_await until_only_left(server().port(), stuck);
        allow_deletes("/multi/b", true);
        co_await nothing_left(server().port());

        // So does a guard that goes away.
        held = must(co_await all.acquire());
        const std::string dropped = held.locks()[1].node;
        allow_deletes("/multi/b", false);
        held = multi_guard();
        co_await until_only_left(server().port(), dropped);
        allow_deletes("/multi/b", true);
        co_await nothing_left(server().port());

        // A roll-back: the error that caused it is told, not that of the giving back, and not later.
        const std::string on_c = foreign(admin, "/multi/c");
        auto waiting = co_await queued(admin, "/multi/c", 2, begin_acquire<multi_guard>(all));
        const std::string rolled_back = "/multi/b/" + queue_of(admin, "/multi/b").front();
        allow_deletes("/multi/b", false);
        waiting.cancel();
        CHECK(co_await waiting.end() == asio::error::operation_aborted);
        std::vector<std::string> left;
        left.push_back(on_c);
        left.push_back(rolled_back);
        co_await until_only_left(server().port(), left);
        allow_deletes("/multi/b", true);
        co_await until_only_left(server().port(), on_c);
        admin.remove(on_c);

        // The connection is lost while they are given back, before or after the server acted.
        for (const moment at : {moment::request, moment::reply}) {
            held = must(co_await all.acquire());
            remote.link.on_next(opcode::remove, at, fate::cut);
            must(co_await std::move(held).release());
            CHECK(remote.link.struck());
            co_await nothing_left(server().port());
        }
    };
    play<1>({.sessions = {120s}, .clean = {"/multi/a", "/multi/b", "/multi/c"}}, story);
}

TEST_CASE("lost: while it waits it begins anew, while it holds it is told")
{
    play<1>({.clean = {"/multi/a", "/multi/b"}}, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        mutex a(remote.zk, "/multi/a"), b(remote.zk, "/multi/b");
        multi_lock both(b, a);
        const std::string on_b = foreign(admin, "/multi/b");
        auto waiting = co_await queued(admin, "/multi/b", 2, begin_acquire<multi_guard>(both));
        const auto first_session = remote.zk.session_id();
        remote.link.expire_session();
        co_await until("the waiter has queued again", [&] {
            return remote.zk.session_id() != first_session && queue_of(admin, "/multi/b").size() == 2 &&
                   queue_of(admin, "/multi/a").size() == 1;
        });
        CHECK_FALSE(waiting.ended());
        admin.remove(on_b);
        multi_guard held = co_await granted(waiting);
        CHECK(held);
        auto told = begin_wait_lost(held);
        remote.link.expire_session();
        CHECK_FALSE(co_await told.end());
        CHECK_FALSE(held);
        CHECK(held.held_until() == lease_clock::time_point{});
        must(co_await held.wait_lost()); // stays so
        CHECK(error_in(co_await std::move(held).release()) == errc::lost);
        co_await nothing_left(server().port());

        // Closed while it waits for the second.
        const std::string again = foreign(admin, "/multi/b");
        waiting = co_await queued(admin, "/multi/b", 2, begin_acquire<multi_guard>(both));
        co_await remote.close();
        CHECK(co_await waiting.end() == errc::closed);
        CHECK(error_in(co_await both.acquire()) == errc::closed);
        admin.remove(again);
    });
}

TEST_CASE("given in opposite orders by two clients: no deadlock; bad input")
{
    const auto body = [&](const any_io_executor& executor) -> awaitable<void> {
        client one(executor, fault_options(server().address(), long_session));
        client two(executor, fault_options(server().address(), long_session));
        mutex a1(one, "/multi/a"), b1(one, "/multi/b"), a2(two, "/multi/a"), b2(two, "/multi/b");
        int inside = 0;
        std::vector<awaitable<void>> users;
        for (int i = 0; i < 3; ++i) {
            users.push_back(cross(multi_lock(a1, b1), 10, inside));
            users.push_back(cross(multi_lock(b2, a2), 10, inside));
            users.push_back(cross(multi_lock(b1, a1), 10, inside));
        }
        co_await together(std::move(users));

        multi_lock twice(a1, b1, a1);
        CHECK(error_in(co_await twice.acquire()) == errc::invalid_option);
        multi_lock of_two_clients(a1, b2);
        CHECK(error_in(co_await of_two_clients.try_acquire()) == errc::invalid_option);
        std::vector<lockable> none;
        multi_lock empty(none);
        CHECK(error_in(co_await empty.acquire(5s)) == errc::invalid_option);
        mutex wrong(one, "multi");
        multi_lock with_wrong(b1, wrong);
        CHECK(error_in(co_await with_wrong.acquire()) == errc::invalid_path);
        co_await nothing_left(server().port());
        must(co_await one.close());
        must(co_await two.close());
    };
    run_test(60s, body);
    expect_clean(server(), {"/multi/a", "/multi/b"});
}
