// sanitizers: address
// program: shared_mutexes
// shared_mutex: time-outs, cancellation, lost connections and sessions, for readers, writers and downgrades.
#include "integration/shared_scene.hpp"

#include <boost/asio/deferred.hpp>

using namespace zklock::test;

TEST_CASE("a deadline of a reader or a writer takes its node along, and those behind go on")
{
    const std::string path = "/shared_faults/deadline";
    play<1>({.sessions = {120s}, .clean = {path}}, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        admin.create_all(path);
        shared_mutex lock(remote.zk, path);
        const std::string writer = foreign_writer(admin, path);
        CHECK(error_in(co_await lock.shared().acquire(20ms)) == condition::not_in_time);
        CHECK(error_in(co_await lock.acquire(20ms)) == condition::not_in_time);
        co_await until_queued(admin, path, 1);
        admin.remove(writer);

        // A writer that gives up in the middle is no obstacle to the readers behind it.
        const std::string reader = foreign_reader(admin, path);
        auto waits = begin_write(lock, 3s); // not before the others stand behind it
        co_await until_queued(admin, path, 2);
        auto behind = begin_read(lock);
        auto also = co_await queued(admin, path, 4, begin_read(lock, 60s));
        CHECK_FALSE(behind.ended());
        CHECK(co_await waits.end() == errc::timed_out);
        guard one = co_await granted(behind);
        guard two = co_await granted(also);
        co_await until_queued(admin, path, 3);
        co_await release(one, two);
        admin.remove(reader);
    });
}

TEST_CASE("readers and writers that are cancelled leave no node, at whatever point")
{
    const std::string path = "/shared_faults/cancelled";
    play<1>({.sessions = {120s}, .clean = {path}}, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        admin.create_all(path);
        shared_mutex lock(remote.zk, path);
        const auto begin = [&](bool reads) { return reads ? begin_read(lock) : begin_write(lock); };
        const auto cancelled = [&](pending<guard> attempt, asio::cancellation_type type) -> awaitable<void> {
            attempt.cancel(type);
            CHECK(co_await attempt.end() == asio::error::operation_aborted);
        };
        for (const bool reads : {true, false}) {
            for (const auto type : cancellation_types) {
                co_await cancelled(begin(reads), type); // before anything
                remote.link.block(direction::replies);  // its create on the way
                const std::size_t before = creates(remote.link);
                auto attempt = begin(reads);
                co_await until("the create is sent", [&, before] { return creates(remote.link) > before; });
                co_await cancelled(attempt, type);
                remote.link.unblock();
                co_await nothing_left(server().port());

                const std::string first = foreign_writer(admin, path); // waiting, first and second
                attempt = begin(reads);
                auto second = co_await queued(admin, path, 3, begin(reads));
                co_await cancelled(attempt, type);
                admin.remove(first);
                co_await take_turn(second);
                co_await nothing_left(server().port());
            }
        }
    });
}

TEST_CASE("a downgrade that is cancelled gives the lock up, "
          "before its request, after it, and while it is not connected")
{
    const std::string path = "/shared_faults/downgrade_cancelled";
    const auto story = [&](remote_client& remote, remote_client& other) -> awaitable<void> {
        shared_mutex lock(remote.zk, path), there(other.zk, path);
        for (const auto type : cancellation_types) {
            guard held = must(co_await lock.acquire());
            auto attempt = begin_downgrade(lock, held);
            attempt.cancel(type);
            CHECK(co_await attempt.end() == asio::error::operation_aborted);
            CHECK_FALSE(attempt.value());
            co_await take_turn(there);

            held = must(co_await lock.acquire());
            remote.link.forget();
            remote.link.block(direction::replies);
            attempt = begin_downgrade(lock, held);
            co_await until_asked(remote.link, opcode::multi);
            attempt.cancel(type);
            CHECK(co_await attempt.end() == asio::error::operation_aborted);
            remote.link.unblock();
            co_await take_turn(there);
            co_await nothing_left(server().port());

            held = must(co_await lock.acquire());
            co_await remote.cut_off();
            attempt = begin_downgrade(lock, held);
            attempt.cancel(type);
            CHECK(co_await attempt.end() == asio::error::operation_aborted);
            remote.link.forget();
            remote.link.accept();
            guard next = must(co_await there.acquire());
            CHECK(creates(remote.link) == 0); // it was never sent, and is not sent for nobody
            co_await release(std::move(next));
            co_await nothing_left(server().port());
        }
        // Never started: it writes on.
        guard held = must(co_await lock.acquire());
        {
            auto never = lock.downgrade(std::move(held), asio::deferred);
        }
        CHECK(held);
        CHECK(error_in(co_await there.shared().try_acquire()) == errc::busy);
        co_await release(std::move(held));
        co_await take_turn(there);
    };
    play<2>({.sessions = {120s, 120s}, .clean = {path}}, story);
}

TEST_CASE("a downgrade that the servers refuse leaves the writer as it was; one that finds its node gone is lost")
{
    const std::string path = "/shared_faults/downgrade_refused";
    const auto story = [&](admin_client& admin, remote_client& remote, remote_client& other) -> awaitable<void> {
        admin.create_all(path);
        shared_mutex lock(remote.zk, path), there(other.zk, path);
        guard held = must(co_await lock.acquire());
        const std::string node = held.node();
        std::vector<access_rule> rules(1);
        rules.front().permissions = 31 & ~4; // all but create
        admin.set_access(path, rules);
        auto attempt = begin_downgrade(lock, held);
        CHECK(co_await attempt.end() == errc::access_denied);
        REQUIRE(attempt.value());
        CHECK(attempt.value().node() == node);
        CHECK(lock.is_held());
        CHECK_FALSE(lock.shared().is_held());
        CHECK(error_in(co_await there.shared().try_acquire()) == errc::busy);
        rules.front().permissions = 31;
        admin.set_access(path, rules);
        guard reads = must(co_await lock.downgrade(std::move(attempt.value())));
        guard with_it = must(co_await there.shared().acquire());
        co_await release(reads, with_it);

        held = must(co_await lock.acquire());
        auto lost = begin_wait_lost(held);
        admin.remove(held.node());
        attempt = begin_downgrade(lock, held);
        CHECK(co_await attempt.end() == errc::lost);
        CHECK_FALSE(attempt.value());
        CHECK_FALSE(co_await lost.end());
    };
    play<2>({.sessions = {120s, 120s}, .clean = {path}}, story);
}

TEST_CASE("with the session all its readers are lost, and its writers queue again; those of others go on")
{
    const std::string path = "/shared_faults/session";
    const auto story = [&](admin_client& admin, remote_client& one, remote_client& two) -> awaitable<void> {
        shared_mutex here(one.zk, path), there(two.zk, path);
        guard a = must(co_await here.shared().acquire());
        guard b = must(co_await here.shared().acquire());
        guard c = must(co_await there.shared().acquire());
        auto lost_a = begin_wait_lost(a);
        auto lost_b = begin_wait_lost(b);
        auto writer = co_await queued(admin, path, 4, begin_write(here));
        auto other_writer = co_await queued(admin, path, 5, begin_write(there));

        one.link.expire_session();
        CHECK_FALSE(co_await lost_a.end());
        CHECK_FALSE(co_await lost_b.end());
        CHECK_FALSE((a || b));
        CHECK(error_in(co_await std::move(a).release()) == errc::lost);
        CHECK(c);
        CHECK_FALSE(other_writer.ended());
        co_await release(std::move(c));
        guard w = co_await granted(other_writer); // the other one has gone to the end of the queue
        CHECK_FALSE(writer.ended());
        co_await release(std::move(w));
        guard v = co_await granted(writer);

        // A writer that is lost with its session, and asks too late to read on.
        auto reader = co_await queued(admin, path, 2, begin_read(there));
        auto lost_v = begin_wait_lost(v);
        one.link.expire_session();
        CHECK_FALSE(co_await lost_v.end());
        auto late = begin_downgrade(here, v);
        CHECK(co_await late.end() == errc::lost);
        CHECK_FALSE(late.value());
        co_await take_turn(reader);
    };
    play<2>({.sessions = {120s, 120s}, .clean = {path}}, story);
}

TEST_CASE("a client that closes ends its readers, its writers and its downgrades")
{
    const std::string path = "/shared_faults/closed";
    const auto story = [&](admin_client& admin, remote_client& one, remote_client& two) -> awaitable<void> {
        shared_mutex here(one.zk, path), there(two.zk, path);
        guard held = must(co_await here.acquire());
        auto reader = begin_read(here);
        auto writer = begin_write(here);
        auto survivor = co_await queued(admin, path, 4, begin_write(there));
        one.link.block(direction::replies);
        auto attempt = begin_downgrade(here, held);
        co_await until("the transaction is sent", [&] { return one.link.count(opcode::multi) != 0; });
        one.link.unblock();
        co_await one.close();
        const error_code of_reader = co_await reader.end();
        const error_code of_writer = co_await writer.end();
        const error_code of_downgrade = co_await attempt.end();
        CHECK((!of_reader || of_reader == errc::closed)); // the answer may have been faster
        CHECK(of_writer == errc::closed);
        CHECK((!of_downgrade || of_downgrade == errc::closed));
        CHECK_FALSE(attempt.value());
        co_await take_turn(survivor);
    };
    play<2>({.sessions = {120s, 120s}, .clean = {path}}, story);
}
