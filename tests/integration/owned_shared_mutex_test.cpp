// sanitizers: address
// program: shared_mutexes
// owned_shared_mutex: one owner, several holds as a writer and as a reader, one node.
#include "integration/shared_scene.hpp"

#include <boost/asio/deferred.hpp>

using namespace zklock::test;

namespace {

pending<> begin_release(owned_shared_mutex lock, lock_owner owner, guard& held)
{
    pending<> p;
    lock.release(owner, held, p.handler());
    return p;
}

bool is_kind(const std::string& node, std::string_view mark)
{
    return std::string_view(node).substr(0, node.size() - 10).ends_with(mark);
}

} // namespace

TEST_CASE("a writer writes and reads again without a request; with its last hold as a writer it becomes a reader")
{
    const std::string path = "/owned/downgrade";
    const auto story = [&](admin_client& admin, remote_client& one, remote_client& two) -> awaitable<void> {
        owned_shared_mutex lock(one.zk, path);
        owned_shared_mutex same(one.zk, path); // another object, the same lock
        shared_mutex there(two.zk, path);
        const lock_owner me, other;
        guard first = must(co_await lock.owned_by(me).acquire());
        CHECK(is_kind(first.node(), "-__WRIT__"));
        CHECK(lock.owned_by(me).is_held());
        CHECK_FALSE(lock.is_held_shared());

        one.link.forget();
        guard second = must(co_await same.owned_by(me).try_acquire());
        guard reader = must(co_await same.shared(me).acquire(5s));
        guard another = must(co_await lock.shared(me).try_acquire());
        CHECK(requests(one.link) == 0);
        for (const guard* g : {&second, &reader, &another}) {
            CHECK(*g);
            CHECK(g->node() == first.node());
            CHECK(g->fencing_token() == first.fencing_token());
        }
        CHECK(lock.hold_count(me) == 2);
        CHECK(lock.hold_count_shared(me) == 2);
        CHECK(lock.hold_count(other) + lock.hold_count_shared(other) == 0);
        CHECK(same.is_held());
        CHECK(same.shared(me).is_held());
        CHECK_FALSE(same.shared(other).is_held());
        CHECK(must(co_await lock.contenders()).size() == 1);
        CHECK(error_in(co_await lock.shared(other).try_acquire()) == errc::busy);
        CHECK(error_in(co_await there.shared().try_acquire()) == errc::busy);

        // Readers wait as long as the owner writes, and no longer; writers wait on.
        auto waiting = co_await queued(admin, path, 2, begin_read(there));
        auto writer = co_await queued(admin, path, 3, begin_write(there));
        one.link.forget();
        must(co_await lock.release(me, first));
        CHECK(requests(one.link) == 0);
        CHECK_FALSE(waiting.ended());
        must(co_await std::move(second).release());
        CHECK(one.link.count(opcode::multi) == 1);
        CHECK(requests(one.link) == 1);
        guard theirs = co_await granted(waiting);
        CHECK(theirs.fencing_token() > reader.fencing_token());
        CHECK_FALSE(writer.ended());
        CHECK_FALSE(lock.is_held());
        CHECK(lock.shared(me).is_held());
        CHECK((reader && another));

        // It reads again, past the writer that waits, and cannot write.
        one.link.forget();
        guard again = must(co_await lock.shared(me).acquire());
        CHECK(is_kind(again.node(), "-__READ__"));
        CHECK(again.fencing_token() == reader.fencing_token());
        CHECK(error_in(co_await lock.owned_by(me).acquire()) == errc::not_upgradable);
        CHECK(error_in(co_await lock.owned_by(me).try_acquire()) == errc::not_upgradable);
        CHECK(error_in(co_await lock.owned_by(me).acquire(5s)) == std::errc::resource_deadlock_would_occur);
        CHECK(requests(one.link) == 0);
        const auto queue = must(co_await lock.contenders());
        REQUIRE(queue.size() == 3);
        CHECK(queue[0].node == again.node());
        CHECK((queue[0].shared && queue[1].shared && !queue[2].shared));

        // What a transaction depends on is the node that is there.
        CHECK(admin.exists(again.node()));
        const protected_register value(admin, path + "_register");
        must(co_await reader.commit(value.write("read")));

        must(co_await lock.release(me, reader));
        CHECK(error_in(co_await lock.release(other, another)) == errc::not_owner);
        another = guard();
        CHECK_FALSE(writer.ended());
        must(co_await std::move(again).release());
        CHECK(lock.hold_count_shared(me) == 0);
        co_await release(std::move(theirs));
        co_await take_turn(writer);
        co_await nothing_left(server().port());
    };
    play<2>({.sessions = {120s, 120s}, .clean = {path, path + "_register"}}, story);
}

TEST_CASE("acquires of one owner wait together; each has its own deadline and cancellation; readers wait as readers")
{
    const std::string path = "/owned/joined";
    play<1>({.sessions = {120s}, .clean = {path}}, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        admin.create_all(path);
        owned_shared_mutex lock(remote.zk, path);
        const lock_owner me;
        const std::string holder = foreign_reader(admin, path);

        auto writer = co_await queued(admin, path, 2, begin_acquire(lock.owned_by(me)));
        auto reader = begin_acquire(lock.shared(me));
        auto too = begin_acquire(lock.owned_by(me));
        CHECK(error_in(co_await lock.shared(me).acquire(10ms)) == condition::not_in_time);
        CHECK(error_in(co_await lock.shared(me).try_acquire()) == errc::busy);
        CHECK(queue_of(admin, path).size() == 2);
        writer.cancel();
        CHECK(co_await writer.end() == asio::error::operation_aborted);
        CHECK_FALSE(reader.ended());
        // The last who would write: the reader need not wait for another one.
        too.cancel();
        CHECK(co_await too.end() == asio::error::operation_aborted);
        guard reads = co_await granted(reader);
        CHECK(is_kind(reads.node(), "-__READ__"));
        co_await until_queued(admin, path, 2);
        co_await release(std::move(reads));

        // All are granted together; a reader that waits cannot become a writer.
        writer = begin_acquire(lock.owned_by(me));
        reader = begin_acquire(lock.shared(me));
        admin.remove(holder);
        guard w = co_await granted(writer);
        guard r = co_await granted(reader);
        CHECK(w.fencing_token() == r.fencing_token());
        CHECK(lock.hold_count(me) == 1);
        auto released = begin_release(lock, me, w);
        CHECK_FALSE(co_await released.end());
        co_await release(std::move(r));

        const std::string blocks = foreign_writer(admin, path);
        reader = co_await queued(admin, path, 2, begin_acquire(lock.shared(me)));
        CHECK(error_in(co_await lock.owned_by(me).acquire()) == errc::not_upgradable);
        CHECK_FALSE(reader.ended());
        admin.remove(blocks);
        co_await take_turn(reader);
        co_await nothing_left(server().port());
    });
}

TEST_CASE("asked to let go, in a multi-lock, in a run, and with bad input")
{
    const std::string path = "/owned/others";
    play<1>({.sessions = {120s}, .clean = {path, path + "_too"}}, [&](remote_client& remote) -> awaitable<void> {
        owned_shared_mutex lock(remote.zk, path);
        mutex beside(remote.zk, path + "_too");
        const lock_owner me;
        guard reader = must(co_await lock.shared(me).acquire());
        guard again = must(co_await lock.shared(me).acquire());
        auto asked = begin_wait_revoked(reader);
        auto asked_too = begin_wait_revoked(again);
        CHECK(must(co_await lock.revoke_holders()) == 1);
        CHECK_FALSE(co_await asked.end());
        CHECK_FALSE(co_await asked_too.end());
        co_await release(reader, again);

        multi_lock both(lock.owned_by(me), beside);
        multi_guard all = must(co_await both.acquire());
        CHECK(lock.owned_by(me).is_held());
        auto read = [&](guard&) -> awaitable<result<std::size_t>> { co_return lock.hold_count_shared(me); };
        CHECK(must(co_await lock.shared(me).run(read)) == 1);
        CHECK(must(co_await lock.shared(me).run(5s, read)) == 1);
        auto write = [&](guard&) -> awaitable<result<std::size_t>> { co_return lock.hold_count(me); };
        CHECK(must(co_await lock.owned_by(me).run(write)) == 2);
        CHECK(must(co_await lock.owned_by(me).run(5s, write)) == 2);
        must(co_await std::move(all).release());

        owned_shared_mutex relative(remote.zk, "no/slash");
        CHECK(error_in(co_await relative.owned_by(me).acquire()) == errc::invalid_path);
        owned_shared_mutex like_kazoo(remote.zk, path, with(&shared_mutex_options::names, naming::kazoo));
        reentrant_mutex alone(remote.zk, path);
        guard writer = must(co_await lock.owned_by(me).acquire());
        CHECK(error_in(co_await like_kazoo.shared(me).acquire()) == errc::invalid_option);
        CHECK(error_in(co_await alone.owned_by(me).acquire()) == errc::invalid_option);
        CHECK(error_in(co_await alone.owned_by(lock_owner()).acquire()) == errc::invalid_option);
        {
            auto never_started = lock.release(me, writer, asio::deferred);
        }
        CHECK(writer);
        writer = guard();
        co_await until("it is released", [&] { return lock.hold_count(me) == 0; });
        co_await nothing_left(server().port());
    });
}
