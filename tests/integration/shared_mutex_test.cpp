// sanitizers: address
// program: shared_mutexes
// shared_mutex: who is let in with whom, in which order, and what becomes of a writer that reads on.
#include "integration/shared_scene.hpp"

#include <boost/asio/deferred.hpp>

using namespace zklock::test;

namespace {

bool ends_with_kind(const std::string& node, std::string_view mark)
{
    return node.size() > 10 && std::string_view(node).substr(0, node.size() - 10).ends_with(mark);
}

shared_mutex_options named(naming names)
{
    return with(&shared_mutex_options::names, names);
}

} // namespace

TEST_CASE("readers hold together, a writer alone; both sides queue in one order")
{
    for (const naming names : {naming::curator, naming::kazoo}) {
        const std::string path = names == naming::curator ? "/shared/mix" : "/shared/mix_kazoo";
        const auto story = [&](admin_client& admin, remote_client& one, remote_client& two) -> awaitable<void> {
            shared_mutex here(one.zk, path, named(names)), there(two.zk, path, named(names));
            CHECK(here.path() == path);

            guard a = must(co_await here.shared().acquire());
            guard b = must(co_await there.shared().acquire(10s));
            guard c = must(co_await here.shared().try_acquire());
            CHECK((a && b && c));
            CHECK(ends_with_kind(a.node(), names == naming::curator ? "-__READ__" : "__rlock__"));
            CHECK(error_in(co_await here.try_acquire()) == errc::busy);
            CHECK(error_in(co_await there.try_acquire()) == errc::busy);
            CHECK(error_in(co_await there.acquire(0s)) == errc::timed_out);
            CHECK(admin.children(path).size() == 3);

            auto writer = co_await queued(admin, path, 4, begin_write(there));
            // Whoever comes after a waiting writer waits for it.
            auto late_here = co_await queued(admin, path, 5, begin_read(here));
            auto late_there = co_await queued(admin, path, 6, begin_read(there));
            CHECK(error_in(co_await here.shared().try_acquire()) == errc::busy);
            CHECK(error_in(co_await there.shared().try_acquire()) == errc::busy);
            CHECK(error_in(co_await here.shared().acquire(0s)) == errc::timed_out);
            CHECK(admin.children(path).size() == 6);

            const auto queue = must(co_await here.contenders());
            REQUIRE(queue.size() == 6);
            const bool shared[] = {true, true, true, false, true, true};
            const bool ours[] = {true, false, true, false, true, false};
            for (std::size_t i = 0; i < 6; ++i) {
                CAPTURE(i);
                CHECK(queue[i].shared == shared[i]);
                CHECK(queue[i].ours == ours[i]);
                CHECK((i == 0 || queue[i].sequence > queue[i - 1].sequence));
            }

            // Readers go in any order; the writer is let in after the last.
            co_await release(b, a);
            CHECK_FALSE(writer.ended());
            co_await release(std::move(c));
            guard w = co_await granted(writer);
            CHECK(ends_with_kind(w.node(), names == naming::curator ? "-__WRIT__" : "-w__lock__"));
            CHECK_FALSE(late_here.ended());
            CHECK_FALSE(late_there.ended());
            CHECK(error_in(co_await here.shared().try_acquire()) == errc::busy);
            CHECK(error_in(co_await there.shared().try_acquire()) == errc::busy);
            const std::int64_t token = w.fencing_token();
            co_await release(std::move(w));
            guard d = co_await granted(late_here);
            guard e = co_await granted(late_there);
            CHECK(d.fencing_token() > token);
            CHECK(e.fencing_token() > token);
            co_await release(d, e);
            guard last = must(co_await here.acquire());
            CHECK(last.fencing_token() > token);
            co_await release(std::move(last));
        };
        play<2>({.sessions = {120s, 120s}, .clean = {path}}, story);
    }
}

TEST_CASE("run: the body with the lock, as a writer or together with others")
{
    const std::string path = "/shared/run";
    play<1>({.sessions = {120s}, .clean = {path}}, [&](remote_client& remote) -> awaitable<void> {
        shared_mutex lock(remote.zk, path);
        guard reader = must(co_await lock.shared().acquire());
        auto read = [&](guard& held) -> awaitable<result<int>> {
            CHECK(held);
            co_return error_in(co_await lock.try_acquire()) == errc::busy ? 4 : 0;
        };
        CHECK(must(co_await lock.shared().run(read)) == 4);
        CHECK(must(co_await lock.shared().run(5s, read)) == 4);
        CHECK(error_in(co_await lock.run(10ms, read)) == errc::timed_out);
        co_await release(std::move(reader));
        auto write = [&](guard&) -> awaitable<result<int>> {
            co_return error_in(co_await lock.shared().try_acquire()) == errc::busy ? 5 : 0;
        };
        CHECK(must(co_await lock.run(write)) == 5);
        CHECK(must(co_await lock.run(5s, write)) == 5);
    });
}

TEST_CASE("a reader that asks to become a writer is refused at once, and goes on reading")
{
    const std::string path = "/shared/upgrade";
    play<1>({.sessions = {120s}, .clean = {path}}, [&](remote_client& remote) -> awaitable<void> {
        shared_mutex lock(remote.zk, path), elsewhere(remote.zk, path + "_too");
        guard one = must(co_await lock.shared().acquire());
        guard other = must(co_await lock.shared().acquire());
        remote.link.forget();
        CHECK(error_in(co_await lock.upgrade(one)) == errc::not_upgradable);
        CHECK(error_in(co_await lock.upgrade(other)) == errc::not_upgradable);
        CHECK(error_in(co_await lock.upgrade(one)) == std::errc::resource_deadlock_would_occur);
        CHECK((one && other));
        CHECK(error_in(co_await elsewhere.upgrade(one)) == errc::not_owner);
        CHECK(error_in(co_await lock.upgrade(guard())) == errc::not_owner);
        CHECK(requests(remote.link) == 0);
        co_await release(one, other);
        guard writer = must(co_await lock.acquire());
        CHECK_FALSE(error_in(co_await lock.upgrade(writer))); // has what it asks for
        co_await release(std::move(writer));
        CHECK(error_in(co_await lock.upgrade(writer)) == errc::not_owner);
    });
}

TEST_CASE("a downgraded writer reads on with its token and its place, and lets readers in")
{
    for (const naming names : {naming::curator, naming::kazoo}) {
        const std::string path = names == naming::curator ? "/shared/downgrade" : "/shared/downgrade_kazoo";
        const auto story = [&](admin_client& admin, remote_client& one, remote_client& two) -> awaitable<void> {
            shared_mutex here(one.zk, path, named(names)), there(two.zk, path, named(names));

            guard g = must(co_await here.acquire());
            const std::string writers_node = g.node();
            const std::int64_t token = g.fencing_token();
            auto lost = begin_wait_lost(g);
            auto reader_here = co_await queued(admin, path, 2, begin_read(here));
            auto reader_there = co_await queued(admin, path, 3, begin_read(there));
            auto writer_there = co_await queued(admin, path, 4, begin_write(there));
            auto writer_here = co_await queued(admin, path, 5, begin_write(here));
            auto last_reader = co_await queued(admin, path, 6, begin_read(here));

            one.link.forget();
            guard r = must(co_await here.downgrade(std::move(g)));
            CHECK_FALSE(g);
            CHECK(r);
            CHECK(r.fencing_token() == token);
            CHECK(r.node() != writers_node);
            CHECK(r.node().substr(r.node().size() - 10) == writers_node.substr(writers_node.size() - 10));
            CHECK(ends_with_kind(r.node(), names == naming::curator ? "-__READ__" : "__rlock__"));
            CHECK(one.link.count(opcode::multi) == 1);
            CHECK_FALSE(lost.ended());
            guard with_it = co_await granted(reader_here);
            guard also = co_await granted(reader_there);
            CHECK(with_it.fencing_token() > token);
            CHECK(queue_of(admin, path).size() == 6);
            CHECK(error_in(co_await there.try_acquire()) == errc::busy);
            CHECK_FALSE(writer_there.ended());

            // No writer before the last of them is gone, whatever the order.
            co_await release(also, with_it);
            admin.sync(path);
            CHECK_FALSE(writer_there.ended());
            CHECK(r);
            co_await release(std::move(r));
            CHECK(co_await lost.end() == asio::error::operation_aborted);
            guard w = co_await granted(writer_there);
            CHECK(w.fencing_token() > token);
            CHECK_FALSE(writer_here.ended());
            co_await release(std::move(w));
            guard v = co_await granted(writer_here);
            CHECK_FALSE(last_reader.ended());
            // Behind whom a reader waits who was let in with the next downgrade.
            guard again = must(co_await here.downgrade(std::move(v)));
            guard end = co_await granted(last_reader);
            co_await release(again, end);
        };
        play<2>({.sessions = {120s, 120s}, .clean = {path}}, story);
    }
}

TEST_CASE("what cannot be downgraded comes back as it was")
{
    const std::string path = "/shared/not_downgraded";
    const auto story = [&](remote_client& remote, remote_client& other) -> awaitable<void> {
        shared_mutex lock(remote.zk, path), elsewhere(remote.zk, path + "_too"), of_another(other.zk, path);
        mutex plain(remote.zk, path + "_plain");

        const auto refused = [&](shared_mutex by, guard held) -> awaitable<guard> {
            const std::string node = held.node();
            auto attempt = begin_downgrade(by, held);
            CHECK(co_await attempt.end() == errc::not_owner);
            CHECK(attempt.value().node().empty());
            CHECK(held.node() == node);
            CHECK(static_cast<bool>(held) == !node.empty());
            co_return std::move(held);
        };
        guard none = co_await refused(lock, guard());
        CHECK_FALSE(none);
        guard reader = co_await refused(lock, must(co_await lock.shared().acquire()));
        co_await release(std::move(reader));
        guard writer = must(co_await lock.acquire());
        writer = co_await refused(elsewhere, std::move(writer));
        writer = co_await refused(of_another, std::move(writer));
        CHECK(error_in(co_await lock.shared().try_acquire()) == errc::busy); // it writes on

        const auto twice = lock.downgrade(std::move(writer), asio::deferred);
        std::array<std::optional<error_code>, 2> ends;
        std::array<guard, 2> given;
        for (std::size_t i : {0u, 1u})
            twice([&, i](error_code ec, guard g) {
                ends[i] = ec;
                given[i] = std::move(g);
            });
        co_await until("both have ended", [&] { return ends[0] && ends[1]; });
        CHECK(*ends[0] == error_code());
        CHECK(*ends[1] == errc::not_owner);
        CHECK(given[0]);
        CHECK_FALSE(given[1]); // there is one guard of what is held
        co_await release(std::move(given[0]));
        guard held = must(co_await plain.acquire());
        shared_mutex same_path(remote.zk, path + "_plain");
        CHECK(error_in(co_await same_path.shared().acquire()) == errc::invalid_option); // a mutex has the path
        held = co_await refused(same_path, std::move(held));

        owned_shared_mutex owned(remote.zk, path + "_owned");
        shared_mutex beside(remote.zk, path + "_owned");
        guard own = must(co_await owned.owned_by(lock_owner()).acquire());
        own = co_await refused(beside, std::move(own)); // an owner's hold
        co_await release(own, held);
    };
    play<2>({.sessions = {120s, 120s}, .clean = {path, path + "_too", path + "_plain", path + "_owned"}}, story);
}

TEST_CASE("readers watch the writer before them, never one behind them: kazoo's #649")
{
    const std::string path = "/shared/order";
    play<1>({.sessions = {120s}, .clean = {path}}, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        admin.create_all(path);
        shared_mutex lock(remote.zk, path);
        const std::string first = foreign_writer(admin, path);
        const std::string among = foreign_reader(admin, path);
        auto reader = co_await queued(admin, path, 3, begin_read(lock));
        const std::string later = foreign_writer(admin, path);
        co_await until_watches_only(server().port(), remote.zk.session_id(), first);
        auto second = begin_read(lock); // behind the later writer
        co_await until_queued(admin, path, 5);

        admin.remove(first); // the reader among them, and the writer behind, are no obstacle
        guard held = co_await granted(reader);
        CHECK_FALSE(second.ended());
        co_await until_watches_only(server().port(), remote.zk.session_id(), later);
        CHECK(error_in(co_await lock.shared().try_acquire()) == errc::busy);
        co_await release(std::move(held));
        CHECK_FALSE(second.ended());
        admin.remove(later);
        guard two = co_await granted(second);
        guard three = must(co_await lock.shared().try_acquire()); // with a foreign reader before it
        co_await release(two, three);
        admin.remove(among);
    });
}

TEST_CASE("as parts of a multi_lock: one as a writer, one as a reader")
{
    const std::string path = "/shared/multi";
    play<1>({.sessions = {120s}, .clean = {path + "_a", path + "_b"}}, [&](remote_client& remote) -> awaitable<void> {
        shared_mutex a(remote.zk, path + "_a"), b(remote.zk, path + "_b");
        std::vector<lockable> parts{a, b.shared()};
        multi_lock both(parts);
        guard reader = must(co_await b.shared().acquire());
        multi_guard held = must(co_await both.acquire(10s));
        CHECK(held.locks().size() == 2);
        CHECK(error_in(co_await a.shared().try_acquire()) == errc::busy);
        guard another = must(co_await b.shared().try_acquire());
        CHECK(error_in(co_await b.try_acquire()) == errc::busy);
        must(co_await std::move(held).release());
        co_await release(reader, another);
    });
}
